"""What goes back to a model about its plan: diagnostics, and how its contracts look before work."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.engine.drafting.overview import write_file
from planbound.engine.judging.verdict import Subject, Verdict, VerdictKind
from planbound.engine.prompt import Context, fenced
from planbound.plan.model import Baseline, Plan
from planbound.source import Diagnostic, Severity
from planbound.source.visible import visible

_LONGEST = 1500
_MOST = 60
_AGAIN = (
    "Answer with the whole plan again, in one fenced block that begins with `````markdown and ends "
    "with `````. Change what is named, and nothing else."
)


class Weight(enum.Enum):
    """Whether a plan is ready while something is still so."""

    OPEN = "open"
    """It is not ready."""
    REMARK = "remark"
    """Said once: there may be a reason for it."""


class Remark(NamedTuple):
    """Something about a draft that the verifier does not know."""

    text: str
    weight: Weight
    output: str = ""
    """What a contract printed."""


def shortcomings(plan: Plan) -> Iterator[Remark]:
    """Yield what a draft is asked for beyond what every plan must have."""
    for step in plan.steps:
        if not plan.touches_of(step):
            yield Remark(
                f"step {step.label} has no `touches`: say which files it may change", Weight.OPEN
            )
    if plan.steps and not plan.postconditions:
        yield Remark(
            "the plan has no postconditions: say by commands when the goal is reached", Weight.OPEN
        )


def colours(
    plan: Plan, verdicts: Sequence[Verdict], clean: Callable[[str], str]
) -> Iterator[Remark]:
    """Yield what is odd about the contracts before any work; `clean` takes secrets out."""
    tolerated = {
        step.label
        for step in plan.steps
        if step.baseline is not None and step.baseline.value is Baseline.ANY
    }
    last = [verdict for verdict in verdicts if verdict.subject is Subject.POSTCONDITION]
    for verdict in verdicts:
        remark = _colour(verdict, tolerated)
        if remark is not None and remark.weight is Weight.REMARK:
            remark = remark._replace(output=_output(verdict, clean))
        if remark is not None:
            yield remark
    if last and all(verdict.kind is VerdictKind.PASS for verdict in last):
        yield Remark(
            "every postcondition passes before any work: none of them shows that the goal is "
            "reached",
            Weight.REMARK,
        )


def _colour(verdict: Verdict, tolerated: set[str]) -> Remark | None:
    name = f"{verdict.subject.value} {verdict.number}"
    step = verdict.subject is Subject.STEP
    reason = visible(verdict.reason)
    match verdict.kind:
        case VerdictKind.PASS if step and verdict.number not in tolerated:
            return Remark(
                f"the contract of {name} passes before any work, so it proves nothing: let it fail "
                "now, or say `**baseline:** any` in the step where it is meant so",
                Weight.OPEN,
            )
        case VerdictKind.FAIL if verdict.subject is Subject.PRECONDITION:
            return Remark(f"{name} does not hold now: {reason}", Weight.REMARK)
        case VerdictKind.UNRUNNABLE:
            return Remark(
                f"the contract of {name} cannot be run: {reason}; use what is there, unless a step "
                "before it brings what is missing",
                Weight.REMARK,
            )
        case VerdictKind.TIMEOUT | VerdictKind.KILLED | VerdictKind.FLAKY:
            return Remark(
                f"the contract of {name} came to no answer before any work: {reason}",
                Weight.REMARK,
            )
        case _:
            return None


def _output(verdict: Verdict, clean: Callable[[str], str]) -> str:
    if verdict.outcome is None:
        return ""
    # Before it is cut: half a secret would not be recognised.
    said = clean(verdict.outcome.stdout.text() + verdict.outcome.stderr.text())
    return said[-_LONGEST:].strip()


def write_diagnostics(plan: Plan, diagnostics: Sequence[Diagnostic]) -> str:
    """Return diagnostics as text: place, code, message, the line, the cure."""
    if not diagnostics:
        return "No problems."
    lines: list[str] = []
    for item in diagnostics[:_MOST]:
        severity = item.severity.value
        lines.append(f"{item.line}:{item.column}: {severity}[{item.code}]: {visible(item.message)}")
        lines.append(f"    {visible(plan.source.lines[item.line - 1])[:200]}")
        if item.hint:
            lines.append(f"    hint: {visible(item.hint)}")
    if len(diagnostics) > _MOST:
        lines.append(f"... and {len(diagnostics) - _MOST} more")
    return fenced("\n".join(lines))


def write_feedback(plan: Plan, diagnostics: Sequence[Diagnostic], remarks: Sequence[Remark]) -> str:
    """Return what to say about a plan that is not ready."""
    parts = [f"This is the plan as it was understood:\n\n{fenced(plan.source.text, 'markdown')}"]
    if diagnostics:
        errors = sum(item.severity is Severity.ERROR for item in diagnostics)
        parts.append(
            f"`planbound verify` says this about it, as LINE:COLUMN ({errors} errors, "
            f"{len(diagnostics) - errors} warnings):\n\n{write_diagnostics(plan, diagnostics)}"
        )
    if remarks:
        parts.append("What else is to be said:\n\n" + "\n".join(map(_write_remark, remarks)))
    return "\n\n".join([*parts, _AGAIN]) + "\n"


def _write_remark(remark: Remark) -> str:
    if not remark.output:
        return f"- {remark.text}"
    return f"- {remark.text}. It printed, as data:\n\n{fenced(remark.output)}\n"


def write_no_plan() -> str:
    """Return what to say to an answer without a plan."""
    return (
        "There is no plan in this answer. Answer with the whole plan in one fenced block that "
        "begins with `````markdown (five backticks) and ends with `````.\n"
    )


def write_files(contexts: Sequence[Context], *, last: bool) -> str:
    """Return the files that were asked for."""
    files = "\n\n".join(write_file(context) for context in contexts)
    then = "No more files are given. " if last else ""
    return f"{files}\n\n{then}Go on: write the plan, or ask for what else you need.\n"


def write_no_files() -> str:
    """Return what to say to who goes on asking for files."""
    return "No more files are given. Write the plan from what you know.\n"


def write_bad_batches(faults: Mapping[str, Sequence[str]]) -> str:
    """Return what to say about batches that cannot be taken."""
    parts = [
        f"{what}:\n\n{fenced(chr(10).join(lines[:_MOST]))}" if lines else f"{what}."
        for what, lines in faults.items()
    ]
    return "\n\n".join([*parts, "Answer with all batches again, in one fenced block."]) + "\n"
