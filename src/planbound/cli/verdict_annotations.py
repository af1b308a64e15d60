"""Verdicts that are no pass as diagnostics at the line of their contract, for CI services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from planbound.cli.annotations import SarifRule, as_sarif, render_annotation
from planbound.cli.terminal import Terminal
from planbound.journal.event import VerdictKind
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case
from planbound.plan.model import Attest, Condition, Judged, Plan, Step
from planbound.source import Diagnostic, Finding, Severity, Span, diagnose, visible

if TYPE_CHECKING:
    from planbound.approval.judge_now import JudgeNow
    from planbound.cells.cell import Captured
    from planbound.journal.redact import Redactor
    from planbound.judging.verdict import Verdict

_UNJUDGED = "unjudged"
_MEANINGS = {
    VerdictKind.FAIL: "The contract ran, and what is expected of it did not hold.",
    VerdictKind.VACUOUS: "The contract passed, and showed too little: nothing was checked, it was"
    " green before the work, or the evidence is below what is demanded.",
    VerdictKind.TIMEOUT: "The contract ran out of time: this is no pass and no fail.",
    VerdictKind.UNRUNNABLE: "The contract could not be run: this is no pass and no fail.",
    VerdictKind.KILLED: "The contract was ended by a signal: this is no pass and no fail.",
    VerdictKind.FLAKY: "The contract failed and passed on the same files.",
    VerdictKind.TAMPERED: "What judges the work, or the plan, is not as it was frozen.",
    VerdictKind.OUT_OF_SCOPE: "Files were changed that `touches` does not name.",
}
_NAMES = {
    VerdictKind.FAIL: "contract-fails",
    VerdictKind.VACUOUS: "contract-shows-too-little",
    VerdictKind.TIMEOUT: "contract-out-of-time",
    VerdictKind.UNRUNNABLE: "contract-not-runnable",
    VerdictKind.KILLED: "contract-killed",
    VerdictKind.FLAKY: "contract-is-flaky",
    VerdictKind.TAMPERED: "judge-changed",
    VerdictKind.OUT_OF_SCOPE: "change-out-of-scope",
}
_TAIL_LINES = 12
_LONGEST_LINE = 400


def show_annotations(judging: JudgeNow, form: str, terminal: Terminal) -> None:
    """Write what is no pass, as `sarif` or `github`."""
    asked = judging.asked
    found = [
        *verdict_diagnostics(asked.plan, judging.found, asked.context.redactor),
        *unjudged_diagnostics(asked.plan, asked.waiting),
    ]
    if form == "sarif":
        terminal.json(as_sarif(found, verdict_rules()))
        return
    for item in found:
        terminal.out(render_annotation(item))


def verdict_rules() -> list[SarifRule]:
    """Return what the codes mean: the words of verdicts that are no pass."""
    rules = [
        SarifRule(kind.value, _NAMES[kind], meaning, Severity.ERROR)
        for kind, meaning in _MEANINGS.items()
    ]
    words = "Nothing here is for the harness to judge: a person attests it, or has to."
    return [*rules, SarifRule(_UNJUDGED, "nothing-to-judge", words, Severity.WARNING)]


def verdict_diagnostics(
    plan: Plan, verdicts: Iterable[Verdict], redactor: Redactor
) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each verdict that is no pass, at its contract."""
    places = dict(_places(plan))
    for verdict in verdicts:
        if verdict.kind is VerdictKind.PASS:
            continue
        said = f"{_named(verdict.subject, verdict.number, verdict.title)}: {verdict.reason}"
        finding = Finding(
            places[verdict.subject, verdict.number],
            "\n".join([visible(redactor.redact(said).text), *_output(verdict, redactor)]),
        )
        kind = verdict.kind
        yield diagnose(
            finding,
            source=plan.source,
            code=kind.value,
            rule=_NAMES[kind],
            severity=Severity.ERROR,
        )


def unjudged_diagnostics(plan: Plan, waiting: Iterable[Case]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for what has no command to run: nobody can call it passed."""
    places = dict(_places(plan))
    for case in waiting:
        why = "a person attests it" if isinstance(case.contract, Attest) else "it has no contract"
        finding = Finding(
            places[case.subject, case.number],
            f"{visible(_named(case.subject, case.number, case.title))}: not judged, {why}",
        )
        yield diagnose(
            finding,
            source=plan.source,
            code=_UNJUDGED,
            rule="nothing-to-judge",
            severity=Severity.WARNING,
        )


def _named(subject: SubjectKind, number: str, title: str) -> str:
    return f"{subject.value} {number}. {title}"


def _output(verdict: Verdict, redactor: Redactor) -> Iterator[str]:
    """Yield the last lines of what a contract printed, without secrets."""
    if verdict.outcome is None:
        return
    for captured in (verdict.outcome.stdout, verdict.outcome.stderr):
        for line in _last_lines(captured, redactor):
            yield f"| {visible(line)[:_LONGEST_LINE]}"


def _last_lines(captured: Captured, redactor: Redactor) -> Sequence[str]:
    return redactor.redact(captured.text()).text.splitlines()[-_TAIL_LINES:]


def _places(plan: Plan) -> Iterator[tuple[tuple[SubjectKind, str], Span]]:
    for condition in plan.preconditions:
        yield (SubjectKind.PRECONDITION, str(condition.number)), _place(condition)
    for step in plan.steps:
        yield (SubjectKind.STEP, step.label), _place(step)
    for condition in plan.postconditions:
        yield (SubjectKind.POSTCONDITION, str(condition.number)), _place(condition)


def _place(owner: Step | Condition) -> Span:
    """Return where a contract's command stands; without one, the heading."""
    contract = owner.contract
    if contract is None:
        return owner.heading
    if isinstance(contract, Judged) and contract.lines:
        return Span(contract.lines[0].start, contract.lines[-1].end)
    return contract.span
