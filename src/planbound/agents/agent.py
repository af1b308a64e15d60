"""Who does the work of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, Protocol

from planbound.cells.cell import Limits, Outcome
from planbound.plan.model import Stream

if TYPE_CHECKING:
    from planbound.cells.egress import Destination
    from planbound.workspace.agents import Role


_CHARACTERS = 4
"""So many characters are about a token."""
_DIGITS = Decimal("0.000001")


class Usage(NamedTuple):
    """What an attempt used; None: nobody knows, which is not nothing."""

    tokens: int | None = None
    dollars: Decimal | None = None
    estimated: int = 0
    """How many of the tokens are estimated: those of a request that was cut off."""

    def cut_off(self, characters: int, price: Decimal | None = None) -> Usage:
        """Return it with a request of so many characters whose end nobody reported.

        `price` is that of a million tokens of input.
        """
        guess = max(1, characters // _CHARACTERS)
        dollars = self.dollars
        if price is not None:
            dollars = (dollars or Decimal(0)) + (price * guess / 1_000_000).quantize(_DIGITS)
        return Usage((self.tokens or 0) + guess, dollars, self.estimated + guess)


class Dispatch(NamedTuple):
    """A command that does a step, and what it gets."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    limits: Limits = Limits(seconds=600.0)
    network: bool = True
    egress: tuple[Destination, ...] | None = None
    """All that it can connect to; None: see `network`."""
    kept_home: str | None = None
    """A folder that appears as the home, and stays; None: an empty one that is gone afterwards."""
    shared: tuple[str, ...] = ()
    """What it can read and write in the user's own home: its log-in."""
    shown: tuple[str, ...] = ()
    """What else the configuration shows it; what it writes to that is gone afterwards."""
    stdin: bytes = b""
    exposed: tuple[str, ...] = ()
    """What it can read although it lies in a folder that a cell has of its own."""
    hear: Callable[[Stream, bytes], Usage | None] | None = None
    """Takes every line of output as it comes, without its end.

    Returns what the attempt used so far, where that is new.
    """


class Assignment(NamedTuple):
    """One attempt at one step, as the agent gets it."""

    prompt: str
    """All that somebody has to know who begins anew."""
    workspace: str
    """Where the agent finds the tree."""
    attempt: int
    seconds: float
    """How long it may take."""
    launch: Callable[[Dispatch], Outcome]
    """Runs a command in the agent's cell; everything that it started is dead when this returns.

    It ends early, as `STOPPED`, where a limit is reached or the run has to stop.
    """
    follow_up: str = ""
    """What is new to somebody who knows the prompt: what failed, and why."""
    session: str | None = None
    """The agent's own name for the session of the attempt before; None: there is none to go on."""
    session_usage: Usage = Usage()
    """What was used in that session before."""
    home: Callable[[], str] = lambda: ""
    """Returns a folder that is the agent's home in all attempts at this step, and no longer."""
    spend: Callable[[Usage], str | None] = lambda usage: None  # noqa: ARG005 - no limit
    """Takes what was used so far, for an agent that is no command; returns why it has to end."""
    stopped: Callable[[], str | None] = lambda: None
    """Returns why an agent that is no command has to end now; to be asked often."""
    limit: Usage = Usage()
    """What it may use at most; None: there is no limit."""
    note: Callable[[str], None] = lambda text: None  # noqa: ARG005 - nobody looks
    """Tells whoever looks on what the agent is doing, in a few words."""
    printed: Callable[[str], None] = lambda text: None  # noqa: ARG005 - nobody looks
    """Tells whoever looks on what the agent prints, a line at a time."""
    role: Role | None = None
    """As what it works, where its tools and its commands are limited; None: as nothing special."""


class Worked(NamedTuple):
    """What came of it, as far as the agent is concerned: it says nothing about the step."""

    outcome: Outcome
    usage: Usage = Usage()
    """Of this attempt alone."""
    error: str | None = None
    """The kind of error that the agent reports of itself, such as `rate_limit`."""
    session: str | None = None
    """The agent's own name for its session, where it can be gone on with."""
    said: str | None = None
    """What the agent said, in words; None: what it printed is what it said."""
    told: str | None = None
    """What it was told; None: the prompt."""
    missing: str | None = None
    """The variable with a credential that is not set."""
    plan: tuple[str, ...] = ()
    """What the agent itself noted as its plan, as it was at last."""


class Agent(Protocol):
    """Somebody who is given a step: every kind makes one, those of other packages, too."""

    @property
    def name(self) -> str:
        """Return how the configuration calls it."""

    def work(self, assignment: Assignment) -> Worked:
        """Do one attempt. Raise `CellProblem` where nothing could be started."""
