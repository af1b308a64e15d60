"""The closed sets of words that events are told with."""

from __future__ import annotations

import enum
from functools import lru_cache


class EventWord(enum.Enum):
    """A closed set of words that events are told with.

    A word that a newer version wrote is kept as it is, so that old and new journals can be read
    and nothing is lost: it is none of the members, and is never taken for one.
    """

    __hash__ = object.__hash__  # an enum's own is slow, and folds ask sets of these all the time

    def __str__(self) -> str:
        """Return the word as it is in the journal."""
        return str(self.value)

    @classmethod
    def _missing_(cls, value: object) -> EventWord | None:
        return _unknown(cls, value) if isinstance(value, str) else None


@lru_cache(256)  # the same word is the same value, as with members
def _unknown(words: type[EventWord], value: str) -> EventWord:
    found = object.__new__(words)
    found._name_, found._value_ = "UNKNOWN", value
    return found


class SubjectKind(EventWord):
    """What a contract is about."""

    STEP = "step"
    PRECONDITION = "precondition"
    POSTCONDITION = "postcondition"


class QuestionSubject(EventWord):
    """What a person is asked about."""

    STEP = "step"
    PRECONDITION = "precondition"
    POSTCONDITION = "postcondition"
    PLAN = "plan"
    """The whole of it."""


class VerdictKind(EventWord):
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


class Result(EventWord):
    """How a step or a postcondition was settled."""

    PROVED = "proved"
    """It passes, and was seen red before the work."""
    HOLDS = "holds"
    """It is green, and nobody saw the work make it so."""
    CLAIMED = "claimed"
    """It has no contract: somebody says so, with evidence."""
    ATTESTED = "attested"
    """A named person answers for it."""
    SKIPPED = "skipped"
    """A person left it out."""


class BaselineMoment(EventWord):
    """When the contract was run that tells what it said before the work."""

    ATTEMPT = "attempt"
    """Before the first attempt at its step."""
    APPROVAL = "approval"
    """When the plan was approved."""


class RunOutcome(EventWord):
    """How a run ended."""

    DONE = "done"
    DONE_WITH_SKIPS = "done with skips"
    FAILED = "failed"
    """It can go on once that is mended."""
    CANCELLED = "cancelled"
    REVISED = "revised"
    """A person sent the plan back to its draft."""
    INCOMPLETE = "incomplete"
    """Only in old journals: a limit ended it."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do, with or without all of its steps."""
        return self is RunOutcome.DONE or self is RunOutcome.DONE_WITH_SKIPS


class AttemptEnding(EventWord):
    """How the agent's part of an attempt came to its end."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed out"
    EXHAUSTED = "exhausted"
    """Memory, processes or temporary space were used up."""
    NOT_STARTED = "not started"
    STOPPED = "stopped"
    """The harness ended it."""
    INTERRUPTED = "interrupted"
    """The run was stopped by a person or a signal."""
    LOST = "lost"
    """The process that ran it is gone."""

    @property
    def is_cut_off(self) -> bool:
        """Whether it says nothing of what a whole attempt comes to."""
        return self is AttemptEnding.LOST or self is AttemptEnding.INTERRUPTED


class StopKind(EventWord):
    """Why a plan was not merged, and nothing moved."""

    CONFLICT = "conflict"
    """Both sides changed the same."""
    RED = "red"
    """A contract does not hold on the merged tree."""
    INCONCLUSIVE = "inconclusive"
    """Nobody can tell whether all contracts hold."""
    MOVING = "moving"
    """The branch was moved by others again and again."""
    IN_THE_WAY = "in the way"
    """Files that are not committed would be written over."""


class SessionOutcome(EventWord):
    """How an agent in the loop ended."""

    DONE = "done"
    FINISHED_BLOCKED = "finished with blocked items"
    INCOMPLETE = "incomplete"
    """It stopped before it was done: a person decides, and it can go on."""
    RELEASED = "released"
    """A person let it go."""

    @property
    def is_final(self) -> bool:
        """Whether it is over for good."""
        return self is not SessionOutcome.INCOMPLETE


class Choice(EventWord):
    """What a person can answer to a run."""

    RETRY = "retry"
    SKIP = "skip"
    ABORT = "abort"
    REVISE = "revise"
    RAISE = "raise"


class QuestionKind(EventWord):
    """Why a person is asked."""

    FAILURE = "failure"
    PERMISSION = "permission"
    BUDGET = "budget"
    ATTESTATION = "attestation"
    CONDITION = "condition"
    REGRESSION = "regression"
    APPROVAL = "approval"
    CLARIFICATION = "clarification"
    INCOMPLETE = "incomplete"
    INTEGRATION = "integration"


class FailureClass(EventWord):
    """What kind of failure it is."""

    TRANSIENT = "transient"
    """It may go by itself: a network, a service, a lock, memory."""
    PERMISSION = "permission"
    """Somebody has to allow it or to configure a credential."""
    INVALID_INPUT = "invalid-input"
    """The agent, or the service behind it, refuses what it was given."""
    AGENT = "agent"
    """The agent's own program broke down, or what it talks to its model with."""
    LOGIC = "logic"
    """The contract ran and failed."""
    UNRECOVERABLE = "unrecoverable"
    """No further attempt can help: a full disk, a broken repository."""
    BLOCKED = "blocked"
    """The agent said twice that it is blocked, and did nothing."""
    HUNG = "hung"
    """Ran past its time limit."""
    FLOODED = "flooded"
    """Printed more than anybody could read."""
    BUDGET = "budget"
    """A limit of what may be spent is reached."""
    WORKSPACE_MISMATCH = "workspace-mismatch"
    """The workspace is not the one that the run left."""
    DESTRUCTIVE = "destructive"
    """The agent destroyed commits, refs, stashes, the index, or most of the files; all is back."""
    TAMPERED = "tampered"
    OUT_OF_SCOPE = "out-of-scope"
    UNRUNNABLE = "unrunnable"
    """The contract or the agent could not be started."""
    VACUOUS = "vacuous"
    FLAKY = "flaky"
    UNKNOWN = "unknown"
    """Nobody knows what the agent failed of."""


class Failed(EventWord):
    """What it was that failed."""

    AGENT = "agent"
    TIME_LIMIT = "time limit"
    CONTRACT = "contract"


class Strength(EventWord):
    """How well it is known who approved."""

    PROOF = "proof"
    """A key that nobody else has."""
    WORD = "word"
    """Somebody said so; another program of the same user could have said it too."""
    RULE = "rule"
    """Nobody: a rule said so."""


class Method(EventWord):
    """How somebody approved."""

    TERMINAL = "terminal"
    """Somebody typed it at a terminal. A program can pretend to be one: no wall by itself."""
    DIGEST = "digest"
    """Somebody named the digest and themselves, without a terminal."""
    SIGNATURE = "signature"
    """A key that is allowed to signed the statement: proof of who it was."""
    POLICY = "policy"
    """A rule of the configuration allows plans like this one: nobody looked at it."""
    ELICITATION = "elicitation"
    """Somebody typed it into a form that the client of an agent showed."""
    PAGE = "page"
    """Somebody pressed a button of the page of `planbound page`."""

    @property
    def strength(self) -> Strength:
        """How well it is known who it was."""
        return _STRENGTHS.get(self, Strength.RULE)

    @property
    def caution(self) -> str:
        """What the method is worth, in a few words."""
        return _CAUTIONS.get(self, "a newer version says what it is worth")


_STRENGTHS = {
    Method.TERMINAL: Strength.WORD,
    Method.DIGEST: Strength.WORD,
    Method.SIGNATURE: Strength.PROOF,
    Method.POLICY: Strength.RULE,
    Method.ELICITATION: Strength.WORD,
    Method.PAGE: Strength.WORD,
}
_CAUTIONS = {
    Method.TERMINAL: "anybody who can type as you could have done this",
    Method.DIGEST: "anybody who can run a command as you could have done this",
    Method.SIGNATURE: "the key proves who it was",
    Method.POLICY: "a rule of the configuration; nobody looked",
    Method.ELICITATION: "a client that answers for people could have done this",
    Method.PAGE: "whatever reads your browser's cookies could have done this",
}


class PersonMethod(EventWord):
    """How it is known who decided something other than an approval."""

    TERMINAL = "terminal"
    """Somebody typed it at a terminal."""
    NAME = "name"
    """Somebody named themselves, without a terminal."""
    PAGE = "page"
    """Somebody pressed a button of the page of `planbound page`."""


class RecoveryResult(EventWord):
    """What came of a recovery."""

    SUCCESS = "success"
    """The step passes."""
    FAILED = "failed"
    """It failed again, or the run ended before it was seen."""
    ESCALATED = "escalated"
    """A person was asked, or took it over."""


class RecoveryMove(EventWord):
    """What follows from a recipe, by itself."""

    RETRY = "retry"


class Limit(EventWord):
    """What a budget limits; the values are those of the journal."""

    TOKENS = "tokens"
    DOLLARS = "cost"
    SECONDS = "time"


class MotorKind(EventWord):
    """What drives a run."""

    INLINE = "inline"
    """This process."""
    DBOS = "dbos"
    """A DBOS workflow, with queues and workers."""


class ToolStatus(EventWord):
    """Where a step or a condition is, as the plan tools and their events call it."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    WAITING = "waiting"
    PROVED = "proved"
    HOLDS = "holds"
    FAILED = "failed"
    SKIPPED = "skipped"
    ATTESTED = "attested"
    WAIVED = "waived"
    BLOCKED = "blocked"
    CLAIMED = "claimed"


class StatusThen(EventWord):
    """Where a plan was in its life when something happened.

    The words are those of `PlanStatus`, which is closed: no file may have another. A journal may,
    if a newer version wrote it.
    """

    DRAFT = "draft"
    VERIFIED = "verified"
    APPROVED = "approved"
    IN_PROGRESS = "in-progress"
    DONE = "done"
    DONE_WITH_SKIPS = "done with skips"
    FINISHED_BLOCKED = "finished with blocked items"
    FAILED = "failed"
    CANCELLED = "cancelled"
