"""What the harness found about a contract, with everything that it saw."""

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from planbound.cells.isolation import Isolation
from planbound.journal.event import VerdictKind
from planbound.journal.fields import ControlResult
from planbound.journal.words import SubjectKind
from planbound.plan.model import Evidence

if TYPE_CHECKING:
    from planbound.cells.cell import Outcome
    from planbound.script.runners.mutated import MutatedTests
    from planbound.script.runners.runner import Summary
    from planbound.state.step import StepProof

# -- what the harness found about a contract, with everything that it saw ------------------------


class VerdictReason(NamedTuple):
    """A verdict's kind and why."""

    kind: VerdictKind
    reason: str
    lacks: str = ""
    """The program or package that is not there, where that is why."""


class Tampering(NamedTuple):
    """A judge, or something that runs by itself, that is not as it was frozen."""

    path: str
    what: str
    """`changed`, `removed`, `added`, or why an added file counts."""
    diff: str = ""


class CanaryRun(enum.Enum):
    """What came of a run with a failing test added."""

    RED = "red"
    """The runner saw it: it can fail."""
    GREEN = "green"
    """Still passed: the runner is subverted."""
    UNCLEAR = "unclear"
    """Failed, but nobody mentions the added test."""
    OVER = "over"
    """No test could be added, but whatever ran came to its own end."""
    CUT = "cut"
    """Something was ended before its own end."""
    LOST = "lost"
    """The added test failed, and the contract passed all the same."""
    NONE = "none"
    """Not made: not asked for, or no way to add a test to this command."""


class TestList(NamedTuple):
    """How many tests ended how, and where their names are kept."""

    passed: int
    failed: int
    skipped: int
    key: str
    """The SHA-256 of the list in the vault."""


class ControlRun(NamedTuple):
    """What a contract said with a change that it has to fail with."""

    name: str
    """The file of the diff; `diff 1` where it stands in the plan."""
    patch: str
    """The SHA-256 of the diff; empty where it could not be read."""
    result: ControlResult
    reason: str
    verdict: VerdictKind | None = None
    """What it came to; None where it was not run."""
    outcome: "Outcome | None" = None
    hint: str | None = None


class Verdict(NamedTuple):
    """What the harness found, and what it is founded on."""

    kind: VerdictKind
    reason: str
    subject: SubjectKind
    number: str
    """The label of the step, or the number of the condition."""
    id: str | None
    """The step's id."""
    title: str
    contract: str
    """The digest of the command and what is expected of it."""
    tree: str
    """The digest of the tree that was judged."""
    isolation: Isolation
    evidence: Evidence
    short_of: tuple[str, ...] = ()
    """What is missing for more evidence."""
    outcome: "Outcome | None" = None
    """What the cell saw; None where nothing was run."""
    summary: "Summary | None" = None
    canary: CanaryRun = CanaryRun.NONE
    runs: int = 1
    baseline: VerdictKind | None = None
    """What the contract said before the work, where that is known."""
    proof: "StepProof | None" = None
    """Of a pass what it shows about the work."""
    tampered: tuple[Tampering, ...] = ()
    outside: tuple[str, ...] = ()
    """Paths outside `touches` that changed."""
    left_out: tuple[str, ...] = ()
    """What the contract did not see, because git ignores it and `touches` does not name it."""
    notes: tuple[str, ...] = ()
    tests: TestList | None = None
    """The tests that ran, where they are judged by their names."""
    new_failures: tuple[str, ...] = ()
    """Tests that fail, or are skipped, and did not before."""
    disappeared: tuple[str, ...] = ()
    """Tests that ran before, and did not now."""
    lacks: str = ""
    """The program or package that is not there, where it could not run without."""
    reachable: "ReachedEvidence | None" = None
    """At the baseline: the level that a pass can have later, and why not more."""
    mutated: "MutatedTests | None" = None
    """What became of the tests with other expected values; None: that was not tried."""
    controls: tuple[ControlRun, ...] = ()
    """At the baseline: what it said with each change that it has to fail with."""
    measured: str | None = None
    """The digest of what the runs showed, where it is kept."""
    reused: int | None = None
    """The event that told of these runs first, where nothing was run again."""
    beyond: str | None = None
    """Where it depends on more than files: a digest of what git knew; `any`: of anything."""


# -- how well a pass is founded ------------------------------------------------------------------


READABLE = "the product's process can read the judges while it runs"
_NOT_RUN = "the judges that are held out were not seen to run"


class EvidenceGrounds(NamedTuple):
    """What a pass rests on."""

    isolation: Isolation
    baseline: VerdictKind | None = None
    """The verdict before the work; None where nobody looked."""
    runner: str | None = None
    """The test runner that the contract starts, where it starts one."""
    summary: "Summary | None" = None
    missing_tests: tuple[str, ...] = ()
    fewer_tests: int = 0
    """How many tests the step took away, of those that it may change."""
    skipped_tests: int = 0
    """How many were skipped without a judge that speaks of it."""
    canary: CanaryRun = CanaryRun.NONE
    unseen: str = ""
    """A program that runs code of the tree, and could be ended by it unseen."""
    unseen_part: str = ""
    """Why not all that judges was seen to fail or to come to its own end; empty: all was."""
    untried: str = ""
    """Why nobody knows whether tests notice other values, where they should have been tried."""
    held_out: bool = False
    """Whether there are judges that the agent's cell never held."""
    held_out_seen: bool = False
    """Whether they were seen to run."""
    apart: bool = False
    """Whether the product's process holds neither what is expected nor the report."""


class ReachedEvidence(NamedTuple):
    """A level of evidence, and what keeps it from the next one."""

    level: Evidence
    short_of: tuple[str, ...]


def reached_evidence(grounds: EvidenceGrounds) -> ReachedEvidence:
    """Return the level that the grounds carry."""
    if not grounds.isolation.reaches(Isolation.I1):
        return ReachedEvidence(Evidence.E1, ("no clean room: the cell is a plain process",))
    missing = _missing_for_corroboration(grounds)
    if missing:
        return ReachedEvidence(Evidence.E2, missing)
    if not grounds.apart:
        unseen = grounds.held_out and not grounds.held_out_seen
        return ReachedEvidence(Evidence.E3, (READABLE, *((_NOT_RUN,) if unseen else ())))
    if not grounds.held_out:
        return ReachedEvidence(Evidence.E3, ("no cases are held out",))
    return ReachedEvidence(Evidence.E4, ("not judged again on another machine",))


def _missing_for_corroboration(grounds: EvidenceGrounds) -> tuple[str, ...]:
    missing: list[str] = []
    if grounds.canary is not CanaryRun.RED:
        missing += _without_red(grounds)
    if grounds.untried:
        missing.append(grounds.untried)
    if grounds.unseen_part:
        missing.append(grounds.unseen_part)
    if grounds.runner is not None:
        if grounds.summary is None or not grounds.summary.passed:
            missing.append(f"no summary of {grounds.runner} shows a test that passed")
        if grounds.missing_tests:
            missing.append(f"required tests did not pass: {', '.join(grounds.missing_tests[:5])}")
        if grounds.fewer_tests > 0:
            missing.append(f"{grounds.fewer_tests} tests fewer than were frozen")
        if grounds.skipped_tests:
            missing.append(f"{grounds.skipped_tests} tests were skipped, and no judge says so")
    return tuple(missing)


def _without_red(grounds: EvidenceGrounds) -> Iterator[str]:
    """Yield what is missing where no test that was added went red."""
    if grounds.baseline is None:
        yield "no baseline: nobody saw the contract red before the work"
    elif grounds.baseline is VerdictKind.PASS:
        yield "the contract was green before the work"
    elif grounds.baseline not in {VerdictKind.FAIL, VerdictKind.VACUOUS}:
        yield f"the baseline was `{grounds.baseline.value}`: nobody saw an expectation fail"
    if grounds.canary is CanaryRun.UNCLEAR:
        yield "with a failing test added the run failed for another reason"
    elif grounds.canary is CanaryRun.LOST:
        yield "with a failing test added the contract passes all the same"
    elif grounds.runner is not None:
        yield "no failing test could be added to see the runner go red"
    elif grounds.unseen and grounds.canary is CanaryRun.NONE and not grounds.unseen_part:
        yield f"nobody saw that `{grounds.unseen}` came to its own end"
