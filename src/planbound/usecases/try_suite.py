"""Run the tests of a project once, in a cell, before anything is written about them."""

from __future__ import annotations

from collections.abc import Callable

from planbound.engine.judging.case import Case, cases
from planbound.engine.judging.verdict import Subject, Verdict, VerdictKind
from planbound.engine.project import Suite
from planbound.engine.project.trial import Trial, known
from planbound.plan.parse import parse
from planbound.plan.skeleton import skeleton
from planbound.usecases.baseline import observe
from planbound.usecases.bench import Bench
from planbound.usecases.named_tests import kept

_LINES = 5


def try_suite(bench: Bench, suite: Suite, plain: Callable[[str], str]) -> Trial:
    """Return what came of a suite: of the first of its commands that starts.

    `plain` takes out of a text from outside what must not be written down.
    """
    first: Trial | None = None
    for command in suite.commands:
        trial = _trial(bench, suite, command, plain)
        if trial.kind is not VerdictKind.UNRUNNABLE:
            return trial
        first = first or trial
    assert first is not None, "a suite without a command is not tried"
    return first


def case_of(trial: Trial) -> Case:
    """Return the contract as it will stand in the plan, read from the plan's text."""
    plan = parse(skeleton("TODO", known=known([trial], ())).encode(), path="PLAN.md")
    return next(case for case in cases(plan) if case.subject is Subject.STEP)


def _trial(bench: Bench, suite: Suite, command: str, plain: Callable[[str], str]) -> Trial:
    # First as a suite whose tests are named: so one run tells which of them fail.
    untried = Trial(suite, command, is_named=True)
    (verdict,) = observe(bench, [case_of(untried)])
    if verdict.tests is None and (verdict.outcome is None or verdict.kind is VerdictKind.VACUOUS):
        untried = Trial(suite, command)
        (verdict,) = observe(bench, [case_of(untried)])
    tests = kept(bench.vault, verdict.tests.key if verdict.tests else None) or ()
    failing = [test.id for test in tests if test.outcome == "failed"]
    kind = verdict.kind
    if failing and kind in {VerdictKind.PASS, VerdictKind.VACUOUS}:
        # The suite as a whole is red, whether any test passes or none; there is nothing yet to
        # compare it with.
        kind = VerdictKind.FAIL
    return untried._replace(
        kind=kind,
        reason=plain(verdict.reason),
        summary=verdict.summary,
        is_named=verdict.tests is not None,
        failing=tuple(plain(name) for name in failing),
        seconds=verdict.outcome.duration if verdict.outcome else 0.0,
        cure=_cure(kind, suite),
        tail=tuple(plain(line) for line in _tail(verdict)),
    )


def _cure(kind: VerdictKind, suite: Suite) -> str:
    if kind is VerdictKind.TIMEOUT:
        return "name a smaller part of the tests, or try again with more time: `--limit 20m`"
    if kind is not VerdictKind.PASS and suite.setup and not suite.is_set_up:
        return f"there is no environment of the project; make one: `{suite.setup}`"
    if kind is VerdictKind.UNRUNNABLE:
        return "install what is missing into the project's environment"
    return ""


def _tail(verdict: Verdict) -> list[str]:
    """Return the end of what was printed, where nothing else says what went wrong."""
    if verdict.outcome is None or verdict.kind is VerdictKind.PASS or verdict.summary is not None:
        return []
    printed = verdict.outcome.stderr.text().strip() or verdict.outcome.stdout.text().strip()
    return printed.split("\n")[-_LINES:] if printed else []
