"""Where one step of a run is, and what was spent."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from planbound.engine.judging.proof import Before, Look
from planbound.engine.recovery.failure import FailureClass
from planbound.engine.roles import USUAL
from planbound.journal.record import Json

CUT_OFF = frozenset({"lost", "interrupted"})
"""Ends of an attempt that say nothing of what a whole one uses."""


class Phase(enum.Enum):
    """Where one step is."""

    PENDING = "pending"
    STARTED = "in-progress"
    """An attempt began, and nothing is known of its end."""
    WAITING = "waiting"
    """A person is asked."""
    PROVED = "done"
    HOLDS = "holds"
    """Its contract passes, and nobody saw it red before the work."""
    ATTESTED = "attested"
    """A person answers for it."""
    WAIVED = "waived"
    SKIPPED = "skipped"
    FAILED = "failed"

    @property
    def is_settled(self) -> bool:
        """Whether what depends on it can go on."""
        return self.is_green or self in {Phase.WAIVED, Phase.SKIPPED}

    @property
    def is_green(self) -> bool:
        """Whether its contract was seen to pass, or a person attested it."""
        return self in {Phase.PROVED, Phase.HOLDS, Phase.ATTESTED}


class Feedback(NamedTuple):
    """What the next attempt is told about the last one."""

    verdict: str | None = None
    reason: str = ""
    exit_code: int | None = None
    output: str = ""
    outside: tuple[str, ...] = ()
    tampered: tuple[str, ...] = ()
    warning: str = ""
    """What the recipe that answered it has to say."""


class Told(NamedTuple):
    """What the journal says that failed."""

    failed: str | None
    """`agent`, `time limit` or `contract`."""
    error: str
    exit_code: int | None


class StepState:
    """One step of a run."""

    __slots__ = (
        "approved", "attempts", "baseline", "blocked", "copy", "covered", "dollars", "ended",
        "feedback", "guidance", "judged_tree", "manifest", "not_before", "phase", "question",
        "reason", "recovered", "repeated", "result", "retries", "said", "seconds", "session",
        "session_dollars", "session_tokens", "signature", "tokens", "trouble", "verdict",
    )  # fmt: skip

    def __init__(self) -> None:
        self.phase = Phase.PENDING
        self.attempts = 0
        self.ended: str | None = None
        """How the agent of the last attempt ended; None: nothing is known."""
        self.verdict: str | None = None
        self.trouble: Told | None = None
        """What failed in the last attempt; None where nothing did."""
        self.result: str | None = None
        self.reason: str | None = None
        """Why it holds and is not proved, or is proved by what was seen at the gate."""
        self.baseline: Look | None = None
        """What its contract said before the first attempt."""
        self.approved: Look | None = None
        """What it said when the plan was approved."""
        self.manifest: str | None = None
        """The tree before the first attempt, in the vault."""
        self.copy: str | None = None
        self.judged_tree: str | None = None
        self.question: str | None = None
        self.guidance: tuple[str, ...] = ()
        self.feedback: Feedback | None = None
        self.said: str | None = None
        """The end of what the agent of the last attempt printed."""
        self.tokens, self.dollars, self.seconds = 0, Decimal(0), 0.0
        self.session: tuple[str, str] | None = None
        """The agent that had the last attempt, and its own name for its session."""
        self.session_tokens, self.session_dollars = 0, Decimal(0)
        """What was used in that session."""
        self.covered: frozenset[Limit] = frozenset()
        """The limits of which a person allowed more for its next attempt, however much."""
        self.reset_recovery()

    @property
    def before(self) -> Before:
        """Return what is known of its contract before the work."""
        return Before(self.baseline, self.approved)

    def reset_recovery(self) -> None:
        """Begin to count anew: a person decided that it goes on."""
        self.not_before: str | None = None
        self.recovered: dict[FailureClass, int] = {}
        self.retries = 0
        self.signature: str | None = None
        self.repeated = 0
        self.blocked = 0
        """How often its agent said that it is blocked, and was told to try."""


class Limit(enum.Enum):
    """What a budget limits; the values are those of the journal."""

    TOKENS = "tokens"
    DOLLARS = "cost"
    SECONDS = "time"


class Use(NamedTuple):
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


class Raised(NamedTuple):
    """What people allowed on top of the budget."""

    tokens: int = 0
    dollars: Decimal = Decimal(0)
    seconds: float = 0.0


def used_in(details: Mapping[str, Json]) -> tuple[str, Use] | None:
    """Return the role of an attempt that ended, and what it used; None where it was cut off."""
    if details.get("ending") in CUT_OFF:
        return None
    role, tokens, duration = details.get("role"), details.get("tokens"), details.get("duration")
    use = Use(
        tokens=tokens if isinstance(tokens, int) else None,
        dollars=decimal_of(details.get("dollars")),
        seconds=float(duration) if isinstance(duration, int | float) else None,
    )
    return (role if isinstance(role, str) else USUAL), use


def raised_limits(details: Mapping[str, Json]) -> frozenset[Limit]:
    """Return the limits that a `BUDGET_RAISED` raises."""
    keys = (("tokens", Limit.TOKENS), ("dollars", Limit.DOLLARS), ("seconds", Limit.SECONDS))
    return frozenset(limit for key, limit in keys if _amount(details.get(key)) > 0)


def decimal_of(value: Json) -> Decimal | None:
    """Return an amount of the journal; None where it is none."""
    if not isinstance(value, str):
        return None
    try:
        found = Decimal(value)
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _amount(value: Json) -> Decimal:
    if isinstance(value, int | float):
        return Decimal(value)
    return decimal_of(value) or Decimal(0)
