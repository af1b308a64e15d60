"""Judge tests by their names and numbers, as the runner's own report has them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from planbound.engine.judging.by_name import Compared, compare, decode, encode
from planbound.engine.judging.meaning import meaning
from planbound.engine.judging.outcome import Outcome
from planbound.engine.judging.summary import Case, Summary
from planbound.engine.judging.verdict import Finding, TestList, VerdictKind
from planbound.errors import FileProblem
from planbound.plan.model import Expectation, MaximumFailures, MinimumTests, NoNewFailures
from planbound.ports.cell import Request
from planbound.ports.tree import Vault

if TYPE_CHECKING:  # what knows all runners takes its time to load
    from planbound.engine.judging.reporters import Reporter

SHOWN = 5
CURE = (
    "tests are named by pytest, `python -m unittest`, `node --test`, jest, vitest, mocha, cargo and"
    " go, called once, as the last command"
)


def are_named(expectations: Sequence[Expectation]) -> bool:
    """Say whether a contract judges tests by their names."""
    return any(isinstance(item, MaximumFailures | NoNewFailures) for item in expectations)


def fewest(expectations: Sequence[Expectation]) -> int:
    """Return how many tests have to pass at least."""
    return max((item.minimum for item in expectations if isinstance(item, MinimumTests)), default=0)


def summary_of(runner: str, cases: Sequence[Case]) -> Summary:
    """Return a report's numbers."""
    ends = [case.outcome for case in cases]
    return Summary(runner, ends.count("passed"), ends.count("failed"), ends.count("skipped"))


def keep(vault: Vault, cases: Sequence[Case]) -> TestList:
    """Keep a list of tests, however long; return where it is."""
    data = encode(cases)
    key = hashlib.sha256(data)
    vault.keep([(key.digest(), data)])
    counts = summary_of("", cases)
    return TestList(counts.passed, counts.failed, counts.skipped, key.hexdigest())


def kept(vault: Vault, key: str | None) -> tuple[Case, ...] | None:
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
    finding: Finding
    cases: tuple[Case, ...] | None = None
    """None: nothing named them."""
    compared: Compared = Compared((), ())

    def told(self, vault: Vault) -> dict[str, Any]:
        """Return what of it stands in the verdict."""
        return {
            "tests": None if self.cases is None else keep(vault, self.cases),
            "new_failures": self.compared.new_failures,
            "disappeared": self.compared.disappeared,
        }


def run_named(
    run: Callable[[Request], Outcome],
    request: Request,
    reporter: Reporter,
    expectations: Sequence[Expectation],
    before: Callable[[Sequence[Case]], Sequence[Case] | None],
) -> NamedRun:
    """Run a contract so that its tests are named, and compare them with those of before."""
    outcome = run(_with_report(request, reporter))
    cases = reporter.cases(outcome)
    if cases is None:
        finding = meaning(outcome, expectations, None)
        if finding.kind is VerdictKind.PASS:
            finding = Finding(VerdictKind.VACUOUS, "no report names the tests that ran")
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
    from planbound.usecases.corroborate import with_added  # noqa: PLC0415 - start-up

    return with_added(request, reporter.added)


def _finding(
    finding: Finding,
    expectations: Sequence[Expectation],
    cases: Sequence[Case],
    before: Callable[[Sequence[Case]], Sequence[Case] | None],
) -> tuple[Finding, Compared]:
    """Return the finding, or which tests keep it from being a pass; those, in any case."""
    compared = Compared((), ())
    failed = [case.id for case in cases if case.outcome == "failed"]
    for item in expectations:
        if isinstance(item, MaximumFailures) and len(failed) > item.maximum:
            reason = f"{len(failed)} failed, expected {item.maximum} or fewer: {listed(failed)}"
            finding = Finding(VerdictKind.FAIL, reason)
        if not isinstance(item, NoNewFailures):
            continue
        known = before(cases)
        if known is None:
            reason = "no baseline says which tests passed: take one with `planbound baseline`"
            return Finding(VerdictKind.VACUOUS, reason), compared
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
            finding = Finding(VerdictKind.FAIL, "; ".join(parts))
    return finding, compared


def listed(names: Sequence[str]) -> str:
    """Return some of the names, and how many more there are."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
