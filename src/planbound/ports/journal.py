"""The journal: append-only, ordered, chained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from planbound.engine.fence import Fence
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Head, Record


class Query(NamedTuple):
    """Which records are asked for; what is None or empty does not restrict."""

    plan: str | None = None
    task: str | None = None
    """A task's id, or its number as it stood in the plan."""
    events: tuple[EventKind, ...] = ()
    since: str | None = None
    until: str | None = None
    after: int = 0
    """Only records with a higher sequence number."""
    last: int | None = None
    """Only so many, from the end; still in ascending order."""


class Journal(Protocol):
    """Where events are kept. A failure is a `JournalProblem`."""

    def append(
        self, drafts: Sequence[Draft], *, expected: Head | None = None, fence: Fence | None = None
    ) -> Sequence[Record]:
        """Append all or nothing, durable on return.

        Drafts whose id is there already are not appended again; their old records are returned.
        With `expected`, raise `Stale` if the head is another one (and anything is to be appended).
        With `fence`, raise `LeaseLost` unless this lease is held still, whatever its time.
        """

    def head(self) -> Head:
        """Return the end of the chain."""

    def read(self, query: Query) -> Iterator[Record]:
        """Yield the records asked for, in ascending order, without holding them all in memory."""

    def wait(self, after: int, seconds: float) -> bool:
        """Return True as soon as there is a record beyond `after`, False when the time is up."""
