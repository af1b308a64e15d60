"""Run a contract once more with failing tests added, and look at every test's own result."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.cells.cell import Laid, Outcome, Request
from planbound.errors import FileProblem
from planbound.journal.event import VerdictKind
from planbound.judging.meaning import (
    Compared,
    compare,
    decode,
    encode,
    meaning,
    missing_names,
)
from planbound.judging.verdict import CanaryRun, TestList, Verdict, VerdictReason
from planbound.plan.model import (
    ExitCodeIs,
    Expectation,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
)
from planbound.script.runners import BY_NAME, missing_tests, naming_runners
from planbound.script.runners.mutated import MutatedTests
from planbound.script.runners.runner import (
    Canary,
    ReportedOutcome,
    ReportedTest,
    RequiredTest,
    Summary,
    read_junit,
    summary_of,
)
from planbound.source import lazy_pattern

if TYPE_CHECKING:
    from planbound.judging.canary import Reporter
    from planbound.workspace.vault import Vault


# -- what a second run of a contract showed, with a failing test added ---------------------------


class Corroboration(NamedTuple):
    """What the second run showed."""

    canary: CanaryRun = CanaryRun.NONE
    summary: Summary | None = None
    """By the runner's report, where it writes one."""
    counted: int | None = None
    """How many tests passed by that report; None: there is none."""
    missing: tuple[str, ...] = ()
    """Required tests that did not pass."""
    held_out_seen: bool = False
    why: str = ""
    """What was seen, where the contract is in doubt because of it."""
    unseen: str = ""
    """Why not all that judges was seen to fail; empty: all was."""
    mutated: MutatedTests | None = None
    """What became of the tests with other expected values; None: that was not tried."""


def not_seen_to_fail(name: str) -> str:
    """Return why nobody can say of a program that it can fail."""
    return f"nobody saw that `{name}` can fail"


def not_shown(canary: Canary) -> str:
    """Return why nobody sees what became of each failing test; empty: somebody does."""
    if not canary.cut or canary.reports is not None:
        return ""
    return f"not all that `{canary.cut}` prints can be seen: let it print without a pipe or a file"


# -- run a contract once more with failing tests added, and look at every test's own result ------


_ESCAPE = lazy_pattern(r"\x1b\[[0-9;]{0,20}m")


class CanaryTrial(NamedTuple):
    """A run of a contract with failing tests in it, and what has to be seen there.

    Where tests are judged by their names, others than the added ones may fail: the exit code says
    nothing of these.
    """

    runner: str
    canary: Canary
    outcome: Outcome
    expectations: Sequence[Expectation] = ()
    required: Sequence[str] = ()
    """The tests that must have passed, as a report names them."""
    held_out: Sequence[str] = ()
    """The files of tests that no agent ever saw."""
    held_out_tests: Sequence[str] = ()
    by_name: bool = False
    anywhere: bool = False
    """Whether its failure may not be the contract's."""

    def reported(self) -> Corroboration | None:
        """Return what the exit code and the runner's report show; None where there is no report."""
        # Whatever it prints: with failing tests in it the run must not end as it did without.
        codes = [item for item in self.expectations if isinstance(item, ExitCodeIs)]
        codes = [ExitCodeIs(0)] if self.by_name else codes
        reports = self.canary.reports
        report = self.outcome.collected.get(reports) if reports else None
        found = read_junit(report) if report is not None else None
        reported = None if found is None else _by_report(self, found[1])
        if meaning(self.outcome, codes, None).kind is VerdictKind.PASS:
            is_lost = self.anywhere and self._is_red(reported)
            return Corroboration(canary=CanaryRun.LOST if is_lost else CanaryRun.GREEN)
        return reported

    def printed(self, required: Sequence[RequiredTest]) -> Corroboration:
        """Return what the output shows; `required` are tests that it has to name as passed."""
        found = _by_output(self.canary, self.outcome, required, self.held_out)
        # Where its failure may not be the contract's, no report was promised.
        canary = self.canary._replace(reports=None) if self.anywhere else self.canary
        return found._replace(unseen=not_shown(canary))

    def _is_red(self, reported: Corroboration | None) -> bool:
        """Say whether the added tests failed, or may have, in a run that passed all the same."""
        if reported is not None:
            return reported.canary is CanaryRun.RED
        if _by_output(self.canary, self.outcome, (), ()).canary is CanaryRun.RED:
            return True
        row, text = BY_NAME.get(self.runner), said(self.outcome)
        if not self.canary.cut or row is None:
            return False
        if self.canary.optional and row.naming is not None and row.naming.apart:
            return True  # nothing was reported: it was not called
        # Where nothing is left of what it printed, nobody knows.
        if self.canary.reports is None and not text.strip():
            return True
        return bool(row.failed) and re.search(row.failed, text, re.MULTILINE) is not None


def _by_report(trial: CanaryTrial, cases: Sequence[ReportedTest]) -> Corroboration:
    canary, required, held_out_tests = trial.canary, trial.required, trial.held_out_tests
    outcomes = {case.id.rpartition("::")[2]: case.outcome for case in cases}
    added = [outcomes.get(name) for name in canary.names]
    passed = [
        case.id
        for case in cases
        if case.outcome is ReportedOutcome.PASSED
        and case.id.rpartition("::")[2] not in canary.names
    ]
    others = [
        case.id
        for case in cases
        if case.outcome is not ReportedOutcome.PASSED
        and case.id.rpartition("::")[2] not in canary.names
    ]
    missing = set(missing_tests(required, passed))
    # A test with several rows has passed when all of them have.
    missing |= set(required) - set(missing_tests(required, others))
    return Corroboration(
        canary=_colour(
            [each is ReportedOutcome.FAILED for each in added],
            passed=ReportedOutcome.PASSED in added,
        ),
        summary=Summary(trial.runner, passed=len(passed)) if passed else None,
        counted=len(passed),
        missing=tuple(test for test in required if test in missing),
        held_out_seen=bool(held_out_tests) and not missing_tests(held_out_tests, passed),
    )


def _by_output(
    canary: Canary, outcome: Outcome, required: Sequence[RequiredTest], held_out: Sequence[str]
) -> Corroboration:
    text = plain = said(outcome)
    dropped = outcome.stdout.dropped or outcome.stderr.dropped
    # Of what was not kept it is known only which names are in it.
    anywhere = outcome.stdout.found | outcome.stderr.found
    failed = [
        canary.says_failed(name, plain) or bool(dropped and name.encode() in anywhere)
        for name in canary.names
    ]
    # Of a test that is not in there nobody knows how it ended.
    stopped = bool(canary.cut) or (bool(canary.marker) and canary.marker not in text)
    if canary.cut:
        failed = [all(failed)]
    elif stopped:
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


def said(outcome: Outcome) -> str:
    """Return all that was kept of what a run printed, without colours."""
    return _ESCAPE.sub("", f"{outcome.stdout.text()}\n{outcome.stderr.text()}")


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
    for name, value, between in canary.environment:
        before = environment.get(name)
        environment[name] = f"{value}{between}{before}" if before else value
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


# -- judge tests by their names and numbers, as the runner's own report has them -----------------


SHOWN = 5
CURE = f"tests are named by {naming_runners()}, called once, as the last command"


def are_named(expectations: Sequence[Expectation]) -> bool:
    """Say whether a contract judges tests by their names."""
    return any(isinstance(item, MaximumFailures | NoNewFailures) for item in expectations)


def fewest(expectations: Sequence[Expectation]) -> int:
    """Return how many tests have to pass at least."""
    return max((item.minimum for item in expectations if isinstance(item, MinimumTests)), default=0)


def keep(vault: Vault, cases: Sequence[ReportedTest]) -> TestList:
    """Keep a list of tests, however long; return where it is."""
    data = encode(cases)
    key = hashlib.sha256(data)
    vault.keep([(key.digest(), data)])
    counts = summary_of("", cases)
    return TestList(counts.passed, counts.failed, counts.skipped, key.hexdigest())


def kept(vault: Vault, key: str | None) -> tuple[ReportedTest, ...] | None:
    """Return a list that was kept; None where there is none, or it cannot be read."""
    if key is None:
        return None
    try:
        data = vault.content(bytes.fromhex(key))
        return None if data is None else decode(data)
    except (ValueError, FileProblem):
        return None


class NamedRun(NamedTuple):
    """One run of a contract whose tests are judged by their names."""

    outcome: Outcome
    summary: Summary | None
    finding: VerdictReason
    cases: tuple[ReportedTest, ...] | None = None
    """None: nothing named them."""
    compared: Compared = Compared((), ())

    def noted_in(self, verdict: Verdict, vault: Vault) -> Verdict:
        """Return a verdict with the tests of this run; the vault keeps their names."""
        return verdict._replace(
            tests=None if self.cases is None else keep(vault, self.cases),
            new_failures=self.compared.new_failures,
            disappeared=self.compared.disappeared,
        )


def run_named(
    run: Callable[[Request], Outcome],
    request: Request,
    reporter: Reporter,
    expectations: Sequence[Expectation],
    before: Callable[[Sequence[ReportedTest]], Sequence[ReportedTest] | None],
) -> NamedRun:
    """Run a contract so that its tests are named, and compare them with those of before."""
    outcome = run(_with_report(request, reporter))
    cases = reporter.cases(outcome)
    if cases is None:
        finding = meaning(outcome, expectations, None)
        if finding.kind is VerdictKind.PASS:
            finding = VerdictReason(VerdictKind.VACUOUS, "no report names the tests that ran")
        return NamedRun(outcome, None, finding)
    summary = summary_of(reporter.runner, cases)
    failing = reporter.failing if summary.failed else frozenset[int]()
    # Which tests fail says more than how many pass: numbers are looked at last.
    uncounted = [item for item in expectations if not isinstance(item, MinimumTests)]
    finding = meaning(outcome, uncounted, summary, failing)
    # Where nothing passes any more, that is a failure of tests with names, too.
    ran = finding.kind is VerdictKind.VACUOUS and summary.failed
    if finding.kind is not VerdictKind.PASS and not ran:
        return NamedRun(outcome, summary, finding, cases)
    finding, compared = _finding(finding, expectations, cases, before)
    if finding.kind is VerdictKind.PASS:
        finding = meaning(outcome, expectations, summary, failing)
    return NamedRun(outcome, summary, finding, cases, compared)


def count_named(run: Callable[[Request], Outcome], request: Request, reporter: Reporter) -> int:
    """Return how many tests pass by the runner's own report."""
    outcome = run(_with_report(request, reporter))
    return summary_of("", reporter.cases(outcome) or ()).passed


def _with_report(request: Request, reporter: Reporter) -> Request:

    return with_added(request, reporter.added)


def _finding(
    finding: VerdictReason,
    expectations: Sequence[Expectation],
    cases: Sequence[ReportedTest],
    before: Callable[[Sequence[ReportedTest]], Sequence[ReportedTest] | None],
) -> tuple[VerdictReason, Compared]:
    """Return the finding, or which tests keep it from being a pass; those, in any case."""
    compared = Compared((), ())
    failed = [case.id for case in cases if case.outcome is ReportedOutcome.FAILED]
    for item in expectations:
        if isinstance(item, MaximumFailures) and len(failed) > item.maximum:
            reason = f"{len(failed)} failed, expected {item.maximum} or fewer: {listed(failed)}"
            finding = VerdictReason(VerdictKind.FAIL, reason)
        if not isinstance(item, NoNewFailures):
            continue
        known = before(cases)
        if known is None:
            reason = "no baseline says which tests passed: take one with `planbound baseline`"
            return VerdictReason(VerdictKind.VACUOUS, reason), compared
        compared = compare(known, cases)
        parts = []
        if compared.new_failures:
            parts.append(
                f"{len(compared.new_failures)} fail and did not before: "
                + listed(compared.new_failures)
            )
        if compared.disappeared:
            parts.append(f"{len(compared.disappeared)} disappeared: {listed(compared.disappeared)}")
        if parts:
            finding = VerdictReason(VerdictKind.FAIL, "; ".join(parts))
    return finding, compared


def listed(names: Sequence[str]) -> str:
    """Return some of the names, and how many more there are."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
