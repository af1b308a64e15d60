"""Where new events go: behind the head, each linked to the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from planbound.errors import Stale
from planbound.journal.chain import link
from planbound.journal.event import EVENTS
from planbound.journal.record import Draft, Head, Record


class Tail(Protocol):
    """The end of a journal that nobody else appends to meanwhile."""

    def head(self) -> Head:
        """Return the end of the chain."""

    def find(self, identity: str) -> Record | None:
        """Return the record of an event that is there already."""

    def last_of_plan(self, plan: str) -> int:
        """Return the number of the plan's last record within the plan, 0 for a new plan."""


class Placed(NamedTuple):
    """A record for each draft, and those of them that are new."""

    records: Sequence[Record]
    new: Sequence[Record]


def place(drafts: Sequence[Draft], expected: Head | None, tail: Tail) -> Placed:
    """Return the records of the drafts; raise Stale where the head is not the expected one."""
    known: dict[str, Record] = {}
    last: dict[str, int] = {}
    new: list[Record] = []
    head = tail.head()
    for draft in drafts:
        if draft.id in known:
            continue
        found = tail.find(draft.id)
        if found is None:
            if expected is not None and not new and head != expected:
                raise Stale(
                    f"the journal went on meanwhile: its head is {_shown(head)}, "
                    f"expected {_shown(expected)}",
                    hint="read it again",
                )
            if draft.plan not in last:
                last[draft.plan] = tail.last_of_plan(draft.plan)
            last[draft.plan] += 1
            found = link(draft, head, last[draft.plan], EVENTS[draft.event].version)
            head = Head(found.seq, found.hash)
            new.append(found)
        known[draft.id] = found
    return Placed([known[draft.id] for draft in drafts], new)


def _shown(head: Head) -> str:
    return f"{head.seq} (`{head.hash[:12]}`)"
