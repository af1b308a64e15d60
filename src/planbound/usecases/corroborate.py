"""Run a contract once more with failing tests added, and look at every test's own result."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from planbound.engine.judging.canary import Canary, canary_for
from planbound.engine.judging.meaning import meaning
from planbound.engine.judging.outcome import Outcome
from planbound.engine.judging.required import missing_tests
from planbound.engine.judging.required_names import Named, missing_names, required_names
from planbound.engine.judging.summary import Case, Summary, read_junit
from planbound.engine.judging.verdict import CanaryRun, VerdictKind
from planbound.plan.command import Script
from planbound.plan.model import ExitCodeIs, Expectation
from planbound.ports.cell import Laid, Request
from planbound.source.pattern import lazy_pattern
from planbound.usecases.corroboration import Corroboration

_NO_JUDGES: Mapping[str, bytes] = MappingProxyType({})
_ESCAPE = lazy_pattern(r"\x1b\[[0-9;]{0,20}m")
# Variables that are lists: what the contract is given already stays.
_JOINED = {
    "PYTHONPATH": ":",
    "PATH": ":",
    "PYTEST_PLUGINS": ",",
    "PYTEST_ADDOPTS": " ",
    "GOFLAGS": " ",
    "NODE_OPTIONS": " ",
}


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
    judges: Mapping[str, bytes] = _NO_JUDGES,
    taken: Callable[[str], bool] = lambda _path: False,
    by_name: bool = False,
) -> Corroboration:
    """Return what a run with failing tests shows; nothing where none can be added.

    The judges are as they were frozen: from them comes which tests must have passed, where the
    runner says so in what it prints only. Where tests are judged by their names, others than the
    added ones may fail: the exit code says nothing of these.
    """
    paths, read = as_laid(request, paths, read)
    canary = canary_for(runner, script, paths, read, os.urandom(8).hex(), taken)
    if canary is None:
        return Corroboration()
    outcome = run(with_added(request, canary))
    # Whatever it prints: with failing tests in it the run must not end as it did without.
    codes = [item for item in expectations if isinstance(item, ExitCodeIs)]
    codes = [ExitCodeIs(0)] if by_name else codes
    if meaning(outcome, codes, None).kind is VerdictKind.PASS:
        return Corroboration(canary=CanaryRun.GREEN)
    report = outcome.collected.get(canary.reports) if canary.reports else None
    found = read_junit(report) if report is not None else None
    if found is None:
        named = () if by_name else required_names(runner, script, paths, read, judges)
        return _by_output(canary, outcome, named, held_out)
    return _by_report(canary, runner, found[1], required, held_out_tests)


def _by_report(
    canary: Canary,
    runner: str,
    cases: Sequence[Case],
    required: Sequence[str],
    held_out_tests: Sequence[str],
) -> Corroboration:
    outcomes = {case.id.rpartition("::")[2]: case.outcome for case in cases}
    added = [outcomes.get(name) for name in canary.names]
    passed = [
        case.id
        for case in cases
        if case.outcome == "passed" and case.id.rpartition("::")[2] not in canary.names
    ]
    others = [
        case.id
        for case in cases
        if case.outcome != "passed" and case.id.rpartition("::")[2] not in canary.names
    ]
    missing = set(missing_tests(required, passed))
    # A test with several rows has passed when all of them have.
    missing |= set(required) - set(missing_tests(required, others))
    return Corroboration(
        canary=_colour([each == "failed" for each in added], passed="passed" in added),
        summary=Summary(runner, passed=len(passed)) if passed else None,
        counted=len(passed),
        missing=tuple(test for test in required if test in missing),
        held_out_seen=bool(held_out_tests) and not missing_tests(held_out_tests, passed),
    )


def _by_output(
    canary: Canary, outcome: Outcome, required: Sequence[Named], held_out: Sequence[str]
) -> Corroboration:
    text = f"{outcome.stdout.text()}\n{outcome.stderr.text()}"
    plain = _ESCAPE.sub("", text)
    dropped = outcome.stdout.dropped or outcome.stderr.dropped
    # Of what was not kept it is known only which names are in it.
    anywhere = outcome.stdout.found | outcome.stderr.found
    failed = [
        canary.says_failed(name, plain) or bool(dropped and name.encode() in anywhere)
        for name in canary.names
    ]
    stopped = bool(canary.marker) and canary.marker not in text
    if stopped:
        failed = [any(failed)]
    elif not dropped and any(failed):
        failed += [re.search(each, plain, re.MULTILINE) is not None for each in canary.besides]
    return Corroboration(
        canary=_colour(
            failed, passed=any(canary.says_passed(name, plain) for name in canary.names)
        ),
        missing=() if stopped or dropped else missing_names(required, plain),
        held_out_seen=bool(held_out) and all(path in text for path in held_out),
    )


def _colour(failed: Sequence[bool], *, passed: bool) -> CanaryRun:
    """Return what it means which of the added tests failed.

    Where some failed and others did not, somebody keeps tests from failing.
    """
    if all(failed) and not passed:
        return CanaryRun.RED
    return CanaryRun.GREEN if passed or any(failed) else CanaryRun.UNCLEAR


def as_laid(
    request: Request, paths: Sequence[str], read: Callable[[str], bytes | None]
) -> tuple[Sequence[str], Callable[[str], bytes | None]]:
    """Return the tree as the command sees it: with what is laid over it."""
    laid = {item.path: item.content for item in request.lay}
    if not laid:
        return paths, read

    def read_laid(path: str) -> bytes | None:
        return laid[path] if path in laid else read(path)

    return [*paths, *(path for path in laid if path not in set(paths))], read_laid


def with_added(request: Request, canary: Canary) -> Request:
    """Return the request with the files and the environment of a canary."""
    environment = dict(request.environment)
    for name, value in canary.environment:
        before = environment.get(name)
        joined = _JOINED.get(name)
        environment[name] = f"{value}{joined}{before}" if before and joined else value
    added = [Laid(path, content) for path, content in canary.files]
    added += [Laid(path, content, 0o755) for path, content in canary.programs]
    replaced = {item.path for item in added}
    kept = [item for item in request.lay if item.path not in replaced]
    return request._replace(
        environment=environment,
        lay=(*kept, *added),
        collect=(canary.reports,) if canary.reports else (),
        needles=(*request.needles, *(name.encode() for name in canary.names)),
    )
