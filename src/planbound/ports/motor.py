"""What drives a run: turn after turn, until one says that there is nothing to do now."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class Again(NamedTuple):
    """There is more to do at once."""


class Later(NamedTuple):
    """There is nothing to do before this time, in UTC as the journal writes it."""

    until: str


class Asking(NamedTuple):
    """There is nothing to do before a person has answered."""


class Ended(NamedTuple):
    """The run is over."""

    status: str


class Halted(NamedTuple):
    """The run was told to stop before its end; it can go on from where it is."""

    reason: str


Next = Again | Later | Asking | Ended | Halted
Turn = Callable[[], Next]


class Motor(Protocol):
    """Calls turns. All state is in the journal: a turn that is called twice does nothing twice."""

    def drive(self, turn: Turn) -> Next:
        """Return what the last turn said: that it ended, was halted, or that a person is asked."""
