"""Run a contract once more with a failing test added, and look at every test's own result."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import NamedTuple

from planbound.engine.judging.canary import Canary, canary_for
from planbound.engine.judging.meaning import meaning
from planbound.engine.judging.outcome import Outcome
from planbound.engine.judging.required import missing_tests
from planbound.engine.judging.summary import Case, Summary, read_junit
from planbound.engine.judging.verdict import CanaryRun, VerdictKind
from planbound.plan.command import Script
from planbound.plan.model import Expectation
from planbound.ports.cell import Laid, Request


class Corroboration(NamedTuple):
    """What the second run showed."""

    canary: CanaryRun = CanaryRun.NONE
    summary: Summary | None = None
    """By the runner's report, where it writes one."""
    missing: tuple[str, ...] = ()
    """Required tests that did not pass."""
    held_out_seen: bool = False


def corroborate(  # noqa: PLR0913 - one thing each, all by name
    *,
    run: Callable[[Request], Outcome],
    request: Request,
    expectations: Sequence[Expectation],
    runner: str,
    script: Script,
    paths: Sequence[str],
    read: Callable[[str], bytes | None],
    required: Sequence[str],
    held_out: Sequence[str],
    held_out_tests: Sequence[str],
) -> Corroboration:
    """Return what a run with a failing test shows; nothing where none can be added."""
    canary = canary_for(runner, script, paths, read, secrets.token_hex(8))
    if canary is None:
        return Corroboration()
    outcome = run(_with(request, canary))
    text = f"{outcome.stdout.text()}\n{outcome.stderr.text()}"
    if meaning(outcome, expectations, None).kind is VerdictKind.PASS:
        return Corroboration(canary=CanaryRun.GREEN)
    cases: tuple[Case, ...] = ()
    summary = None
    report = outcome.collected.get(canary.reports) if canary.reports else None
    found = read_junit(report) if report is not None else None
    if found is not None:
        cases = tuple(case for case in found[1] if canary.name not in case.id)
        passed = sum(case.outcome == "passed" for case in cases)
        summary = Summary(runner, passed=passed)
    named = canary.name in text or (found is not None and len(cases) < len(found[1]))
    passed_ids = [case.id for case in cases if case.outcome == "passed"]
    seen = bool(held_out_tests) and not missing_tests(held_out_tests, passed_ids)
    if not seen and held_out and found is None:
        seen = all(path in text for path in held_out)
    return Corroboration(
        canary=CanaryRun.RED if named else CanaryRun.UNCLEAR,
        summary=summary if summary is not None and summary.passed else None,
        missing=missing_tests(required, passed_ids) if found is not None else (),
        held_out_seen=seen,
    )


def _with(request: Request, canary: Canary) -> Request:
    environment = dict(request.environment)
    for name, value in canary.environment:
        # What the contract is given already stays: PYTHONPATH is a list.
        before = environment.get(name)
        joined = {"PYTHONPATH": ":", "PYTEST_PLUGINS": ",", "PYTEST_ADDOPTS": " "}.get(name)
        environment[name] = f"{value}{joined}{before}" if before and joined else value
    return request._replace(
        environment=environment,
        lay=(*request.lay, *(Laid(path, content) for path, content in canary.files)),
        collect=(canary.reports,) if canary.reports else (),
    )
