"""Telling others what happened: how a message is handed over, and how far each entry has come."""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from planbound.engine.notify import Notify


class Message(NamedTuple):
    """One event on its way to a receiver."""

    id: str
    """The event's own: a receiver that saw it already can drop it."""
    event: str
    plan: str
    task: str
    """Empty where it is about no step."""
    body: bytes
    """The event as JSON."""


class Reception(enum.Enum):
    """What a receiver did with a message."""

    TAKEN = "taken"
    REFUSED = "refused"
    """Or was not there, or took too long."""
    BROKEN_OFF = "broken off"
    """We did not wait for it: it is neither delivered nor refused."""


class Answer(NamedTuple):
    """What became of a message."""

    reception: Reception
    reason: str = ""
    """Why it was refused, without secrets."""


class Sender(Protocol):
    """Hands messages over."""

    def send(self, entry: Notify, message: Message, hurry: Callable[[], bool]) -> Answer:
        """Hand one message over; break off where it can be done as soon as `hurry` says so."""


class GivenUp(NamedTuple):
    """An event that a receiver did not take, however often it was tried."""

    id: str
    seq: int
    event: str
    reason: str
    at: float


class Cursor(NamedTuple):
    """How far an entry has come."""

    seq: int
    """The last record of the journal that needs no more thought."""
    target: str = ""
    """The receiver, as it is shown."""
    tries: int = 0
    """How often the next one was tried already."""
    due: float = 0.0
    """When it may be tried again, in seconds since 1970."""
    reason: str = ""
    """Why the last try failed."""
    delivered: float = 0.0
    """When the last one was taken."""
    given_up: tuple[GivenUp, ...] = ()
    """The last ones, the newest at the end."""


class Cursors(Protocol):
    """Where cursors are kept, by the identity of their entry. A failure is a `FileProblem`."""

    def enter(self, identity: str, cursor: Cursor) -> bool:
        """Keep the cursor of an entry that has none; return whether it was kept."""

    def read(self, identity: str) -> Cursor | None:
        """Return the cursor of an entry."""

    def write(self, identity: str, cursor: Cursor) -> None:
        """Replace the cursor of an entry, durable on return."""

    def alone(self, identity: str) -> AbstractContextManager[bool]:
        """Keep all others from delivering for an entry; yield False where another does it now."""
