"""A journal that kills its own process at a chosen append: for tests of what a crash leaves.

`PLANBOUND_FAILPOINT` says when: `before:7` and `after:7` are about the seventh append of the
process, `before:CONTRACT_EVALUATED:2` is about the append that holds the second event of that kind.
"After" is when the events are durable, and nothing else was done about them. `change:40` is about
the fortieth time that the process makes, moves or removes a file or folder.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planbound.errors import UsageError
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Head, HeldLease, Journal, Query, Record

VARIABLE = "PLANBOUND_FAILPOINT"


_CHANGES = frozenset({"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink"})


class Failpoint(NamedTuple):
    """When a process dies."""

    before: bool
    place: int
    """At which append, or at which event of the kind; from 1."""
    kind: EventKind | None = None
    changes: bool = False
    """Whether changes of the file system are counted, and not appends."""


def parse_failpoint(text: str) -> Failpoint:
    """Return what `PLANBOUND_FAILPOINT` says."""
    when, _, rest = text.partition(":")
    if when == "change" and rest.isdecimal():
        return Failpoint(before=True, place=int(rest), changes=True)
    name, _, count = rest.rpartition(":")
    kinds = {kind.value: kind for kind in EventKind}
    if when not in {"before", "after"} or not count.isdecimal() or (name and name not in kinds):
        raise UsageError(
            f"`{VARIABLE}` is `{text}`", hint="write `before:7` or `after:CONTRACT_EVALUATED:2`"
        )
    return Failpoint(when == "before", int(count), kinds.get(name))


class FailingJournal:
    """Hands everything to a journal until the failpoint is reached."""

    def __init__(self, journal: Journal, failpoint: Failpoint) -> None:
        self.journal = journal
        self.failpoint = failpoint
        self._seen = 0
        if failpoint.changes:
            sys.addaudithook(self._changes)

    def _changes(self, event: str, arguments: tuple[object, ...]) -> None:
        # What Python compiles depends on what was run before.
        if event in _CHANGES and "__pycache__" not in str(arguments[0]):
            self._seen += 1
            if self._seen == self.failpoint.place:
                _die()

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expected: Head | None = None,
        held_lease: HeldLease | None = None,
    ) -> Sequence[Record]:
        """Append, unless this is where the process ends."""
        reached = self._reaches(drafts)
        if reached and self.failpoint.before:
            _die()
        records = self.journal.append(drafts, expected=expected, held_lease=held_lease)
        if reached:
            _die()
        return records

    def _reaches(self, drafts: Sequence[Draft]) -> bool:
        if self.failpoint.changes:
            return False
        kind = self.failpoint.kind
        before = self._seen
        self._seen += 1 if kind is None else sum(draft.kind is kind for draft in drafts)
        return before < self.failpoint.place <= self._seen

    def head(self) -> Head:
        """Return the end of the chain."""
        return self.journal.head()

    def read(self, query: Query) -> Iterator[Record]:
        """Yield the records asked for."""
        return self.journal.read(query)

    def wait(self, after: int, seconds: float) -> bool:
        """Wait for a record beyond `after`."""
        return self.journal.wait(after, seconds)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
