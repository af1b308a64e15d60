"""Where one step of a run is: what a pass shows, what a failure is, and what was spent."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from planbound.journal.event import (
    AttemptEnded,
    AttemptEnding,
    BudgetRaised,
    Result,
    TaskCompleted,
    VerdictKind,
)
from planbound.journal.fields import ControlResult
from planbound.journal.words import BaselineMoment, Failed, FailureClass, Limit
from planbound.plan.model import USUAL_TARGET, StepStatus

# -- what a pass shows about the work: red before and green after is proved, anything else holds -


_UNSEEN = frozenset({VerdictKind.TAMPERED, VerdictKind.OUT_OF_SCOPE})
"""Nobody knows what the contract says of a tree that changed under it."""


class Look(NamedTuple):
    """What a contract said when the harness looked at it, before it was done."""

    verdict: VerdictKind
    tree: str = ""
    """The files that it was about; empty: nobody looked at them."""
    contract: str = ""
    """The digest of the contract."""
    controls: tuple[tuple[str, ControlResult], ...] = ()
    """What it said with each change that it has to fail with, by name."""

    @property
    def is_seen(self) -> bool:
        """Whether anybody knows from it what the contract said."""
        return self.verdict not in _UNSEEN

    @property
    def is_red(self) -> bool:
        """Whether the contract did not pass: also one that could not even run was not green."""
        return self.is_seen and self.verdict is not VerdictKind.PASS


class Before(NamedTuple):
    """All that is known of a contract before the work."""

    attempt: Look | None = None
    """Before the first attempt at its step."""
    approval: Look | None = None
    """When the plan was approved."""


class StepProof(Struct, frozen=True):
    """What a pass shows, and by what."""

    result: Result
    reason: str
    baseline: VerdictKind | None = None
    """What the contract said before, where anybody looked."""
    at: BaselineMoment | None = None
    """When that was."""


def proof_of(before: Before, tree: str) -> StepProof:
    """Return what a pass on a tree shows: the one rule for runs, loops, copies and worktrees."""
    looks = (
        (BaselineMoment.ATTEMPT, before.attempt),
        (BaselineMoment.APPROVAL, before.approval),
    )
    seen = [(at, look) for at, look in looks if look is not None and look.is_seen]
    if not seen:
        return StepProof(Result.HOLDS, why_held(None))
    # The last look that found it red; the first one where none did.
    at, look = next((each for each in seen if each[1].is_red), seen[0])
    # Red and green on the same files: whatever made it green, it was not the work.
    if not look.is_red or (look.tree and look.tree == tree):
        return StepProof(Result.HOLDS, why_held(look.verdict), look.verdict, at)
    when = "before the work" if at is BaselineMoment.ATTEMPT else "when the plan was approved"
    return StepProof(Result.PROVED, f"it was red {when}", look.verdict, at)


def why_held(baseline: VerdictKind | None) -> str:
    """Return why something holds and is not proved, by what its contract said before."""
    if baseline is None:
        return "nobody saw it red"
    if baseline is VerdictKind.PASS:
        return "it was green before the work"
    return f"it was `{baseline.value}` before, and no file changed since"


def held(reason: object) -> str:
    """Return how it is said that something holds."""
    return f"holds ({reason})" if reason else "holds"


def tally(proved: object, steps: object, holds: object, attested: object = 0) -> str:
    """Return what steps came to, each by its own word: `2/4 proved, 1 holds, 1 attested`."""
    count = f"{proved}/{steps} proved"
    count += f", {holds} hold{'s' if holds == 1 else ''}" if holds else ""
    return f"{count}, {attested} attested" if attested else count


def foretold(*, red: bool) -> str:
    """Return what will come of a step whose contract is green before any work."""
    if red:
        return "green now, and red is demanded: it will be `vacuous`, and a person is asked"
    return "green now: if it is green after the work it `holds`, and is not proved"


# -- the kinds of failure that recipes answer, and what it was that failed -----------------------


def trouble_words(failed: Failed | None, error: str, exit_code: object) -> str:
    """Return what failed and of what, as people read it; empty where it is the contract.

    Of a contract its verdict tells more.
    """
    if failed is Failed.TIME_LIMIT:
        return f"time limit: {error}"
    if failed is not Failed.AGENT:
        return ""
    how = f" (exit {exit_code})" if exit_code else ""
    return f"agent failed{how}" + (f": {error}" if error != ended_with(exit_code) else "")


def ended_with(exit_code: object) -> str:
    """Return how an agent ended that said nothing about it."""
    return f"the agent ended with {exit_code}"


# -- where one step of a run is, and what was spent ----------------------------------------------


_RESULTS = {
    Result.HOLDS: StepStatus.HOLDS,
    Result.CLAIMED: StepStatus.CLAIMED,
    Result.ATTESTED: StepStatus.ATTESTED,
}
"""How a step may be completed besides being proved."""


def completed_as(event: TaskCompleted) -> StepStatus:
    """Return what a `TASK_COMPLETED` makes of its step."""
    return _RESULTS.get(event.result, StepStatus.DONE)


class Feedback(NamedTuple):
    """What the next attempt is told about the last one."""

    verdict: VerdictKind | None = None
    reason: str = ""
    exit_code: int | None = None
    output: str = ""
    outside: tuple[str, ...] = ()
    tampered: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """What the contract did not see."""
    warning: str = ""
    """What the recipe that answered it has to say."""


class NotedFailure(NamedTuple):
    """What the journal says that failed."""

    failed: Failed | None
    error: str
    exit_code: int | None


class StepState(Struct):
    """One step of a plan: the one answer to where it is, and what is known of its last attempt."""

    id: str = ""
    name: str | None = None
    status: StepStatus = StepStatus.PENDING
    attempts: int = 0
    ended: AttemptEnding | None = None
    """How the agent of the last attempt ended; None: nothing is known."""
    verdict: VerdictKind | None = None
    trouble: NotedFailure | None = None
    """What failed in the last attempt; None where nothing did."""
    result: Result | None = None
    reason: str | None = None
    """Why it holds and is not proved, or is proved by what was seen at the gate."""
    baseline: Look | None = None
    """What its contract said before the first attempt."""
    approved: Look | None = None
    """What it said when the plan was approved."""
    manifest: str | None = None
    """The tree before the first attempt, in the vault."""
    copy: str | None = None
    judged_tree: str | None = None
    beyond: str | None = None
    """What its contract depended on besides files: a digest, or `any`."""
    question: str | None = None
    guidance: tuple[str, ...] = ()
    feedback: Feedback | None = None
    said: str | None = None
    """The end of what the agent of the last attempt printed."""
    tokens: int = 0
    dollars: Decimal = Decimal(0)
    seconds: float = 0.0
    session: tuple[str, str] | None = None
    """The agent that had the last attempt, and its own name for its session."""
    session_tokens: int = 0
    """What was used in that session."""
    session_dollars: Decimal = Decimal(0)
    covered: frozenset[Limit] = frozenset()
    """The limits of which a person allowed more for its next attempt, however much."""
    not_before: str | None = None
    recovered: Mapping[FailureClass, int] = MappingProxyType({})
    retries: int = 0
    signature: str | None = None
    repeated: int = 0
    blocked: int = 0
    """How often its agent said that it is blocked, and was told to try."""

    @property
    def before(self) -> Before:
        """Return what is known of its contract before the work."""
        return Before(self.baseline, self.approved)

    def reset_recovery(self) -> None:
        """Begin to count anew: a person decided that it goes on."""
        self.not_before = None
        self.recovered = MappingProxyType({})
        self.retries = 0
        self.signature = None
        self.repeated = 0
        self.blocked = 0


class Use(Struct, frozen=True):
    """What one attempt is known to have used; None: nobody knows."""

    tokens: int | None = None
    dollars: Decimal | None = None
    seconds: float | None = None


class Spent(NamedTuple):
    """What agents are known to have used."""

    tokens: int = 0
    dollars: Decimal = Decimal(0)
    unmetered: int = 0
    """How many attempts did not say."""
    estimated: int = 0
    """How many of the tokens are estimated."""
    seconds: float = 0.0
    """How long the run was at work, without the time that it waited for people."""


class Raised(Struct, frozen=True):
    """What people allowed on top of the budget."""

    tokens: int = 0
    dollars: Decimal = Decimal(0)
    seconds: float = 0.0


def used_in(event: AttemptEnded) -> tuple[str, Use] | None:
    """Return the role of an attempt that ended, and what it used; None where it was cut off."""
    if event.ending.is_cut_off:
        return None
    use = Use(
        tokens=tokens_of(event),
        dollars=dollars_of(event),
        seconds=None if event.duration is None else float(event.duration),
    )
    return event.role if event.role is not None else USUAL_TARGET, use


def tokens_of(event: AttemptEnded) -> int | None:
    """Return how many tokens an attempt used; None where nobody knows."""
    return event.tokens if isinstance(event.tokens, int) else None


def dollars_of(event: AttemptEnded) -> Decimal | None:
    """Return what an attempt cost; None where nobody knows."""
    return decimal_of(event.dollars) if isinstance(event.dollars, str) else None


def raised_limits(event: BudgetRaised) -> frozenset[Limit]:
    """Return the limits that are raised."""
    more = {
        Limit.TOKENS: Decimal(event.tokens or 0),
        Limit.DOLLARS: decimal_of(event.dollars) or Decimal(0),
        Limit.SECONDS: Decimal(event.seconds or 0),
    }
    return frozenset(limit for limit, amount in more.items() if amount > 0)


def decimal_of(value: str | None) -> Decimal | None:
    """Return an amount of the journal; None where it is none."""
    if value is None:
        return None
    try:
        found = Decimal(value)
    except InvalidOperation:
        return None
    return found if found.is_finite() else None
