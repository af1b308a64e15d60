"""What the harness found about a contract, with everything that it saw."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Outcome
from planbound.engine.judging.proof import Proof
from planbound.plan.model import Evidence

if TYPE_CHECKING:  # the readers of summaries take their time to load
    from planbound.engine.judging.summary import Summary


class VerdictKind(enum.Enum):
    """What a contract came to."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    VACUOUS = "vacuous"
    TIMEOUT = "timeout"
    UNRUNNABLE = "unrunnable"
    KILLED = "killed"
    FLAKY = "flaky"
    TAMPERED = "tampered"
    OUT_OF_SCOPE = "out-of-scope"
    ATTESTED = "attested"
    WAIVED = "waived"

    @property
    def is_conclusive(self) -> bool:
        """Whether the contract ran and said yes or no."""
        return self in {VerdictKind.PASS, VerdictKind.FAIL}


class Finding(NamedTuple):
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
    NONE = "none"
    """Not made: not asked for, or no way to add a test to this command."""


class Subject(enum.Enum):
    """What a contract is about."""

    STEP = "step"
    PRECONDITION = "precondition"
    POSTCONDITION = "postcondition"


class TestList(NamedTuple):
    """How many tests ended how, and where their names are kept."""

    passed: int
    failed: int
    skipped: int
    key: str
    """The SHA-256 of the list in the vault."""


class Verdict(NamedTuple):
    """What the harness found, and what it is founded on."""

    kind: VerdictKind
    reason: str
    subject: Subject
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
    outcome: Outcome | None = None
    """What the cell saw; None where nothing was run."""
    summary: Summary | None = None
    canary: CanaryRun = CanaryRun.NONE
    runs: int = 1
    baseline: str | None = None
    """What the contract said before the work, where that is known."""
    proof: Proof | None = None
    """Of a pass what it shows about the work."""
    tampered: tuple[Tampering, ...] = ()
    outside: tuple[str, ...] = ()
    """Paths outside `touches` that changed."""
    notes: tuple[str, ...] = ()
    tests: TestList | None = None
    """The tests that ran, where they are judged by their names."""
    new_failures: tuple[str, ...] = ()
    """Tests that fail, or are skipped, and did not before."""
    disappeared: tuple[str, ...] = ()
    """Tests that ran before, and did not now."""
    lacks: str = ""
    """The program or package that is not there, where it could not run without."""
