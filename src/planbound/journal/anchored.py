"""A journal whose head is noted in a second place after every append."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from planbound.errors import JournalProblem
from planbound.journal.chain import Anchor, format_anchor, parse_anchor
from planbound.journal.record import CodecError, Draft, Head, HeldLease, Journal, Query, Record


class AnchorFile:
    """One line in a file away from the journal."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> Anchor | None:
        """Return what was noted; None where nothing was."""
        try:
            with open(self.path, encoding="utf-8") as file:
                return parse_anchor(file.read(10_000))
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError, CodecError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise JournalProblem(f"the anchor `{self.path}` cannot be read: {reason}") from error

    def write(self, anchor: Anchor) -> None:
        """Note a head, whole or not at all."""
        folder = os.path.dirname(self.path)
        temporary = f"{self.path}.{os.urandom(6).hex()}.tmp"
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(format_anchor(anchor) + "\n")
            os.replace(temporary, self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise JournalProblem(
                f"the anchor `{self.path}` cannot be written: {error.strerror}"
            ) from error


class AnchoredJournal:
    """Hands everything to the journal, and notes the head behind each append."""

    def __init__(
        self, journal: Journal, anchor: AnchorFile, *, project: str, every: float = 0.0
    ) -> None:
        self.journal = journal
        self.anchor = anchor
        self.project = project
        self._every = every
        """How many seconds apart the head is noted at most; whoever sets this calls `settle`."""
        self.added: Callable[[Sequence[Record]], None] = lambda _records: None
        """Called with what was added, for what people read to follow."""
        self._noted = 0.0
        self._put_off: Record | None = None
        self._turn = threading.Lock()

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expected: Head | None = None,
        held_lease: HeldLease | None = None,
    ) -> Sequence[Record]:
        """Append, then note the new head, unless a later one is noted already."""
        records = self.journal.append(drafts, expected=expected, held_lease=held_lease)
        if records:
            with self._turn:
                self._put_off = max(records, key=_number)
                if time.monotonic() - self._noted >= self._every:
                    self._note(records)
            # What was there already comes back as it was written then.
            stamps = {draft.id: draft.timestamp for draft in drafts}
            self.added(
                [each for each in records if stamps.get(each.draft.id) == each.draft.timestamp]
            )
        return records

    def settle(self) -> None:
        """Note the head that was put off."""
        with self._turn:
            if self._put_off is not None:
                self._note([self._put_off])

    def _note(self, records: Sequence[Record]) -> None:
        last = self._put_off
        assert last is not None
        noted = self.anchor.read()
        if noted is None or (noted.seq < last.seq and self._continues(noted, records)):
            stamp = last.draft.timestamp
            self.anchor.write(Anchor(last.seq, last.hash, stamp, self.project))
        self._put_off = None
        self._noted = time.monotonic()

    def _continues(self, noted: Anchor, records: Sequence[Record]) -> bool:
        """Say whether the journal still holds what was noted.

        Where it does not, somebody put another journal in its place: the old note is the only
        evidence of that, and stays.
        """
        first = min(records, key=lambda record: record.seq)
        if (noted.seq, noted.hash) == (first.seq - 1, first.prev):
            return True
        at_note = next(iter(self.journal.read(Query(after=noted.seq - 1))), None)
        return at_note is not None and (at_note.seq, at_note.hash) == (noted.seq, noted.hash)

    def head(self) -> Head:
        """Return the end of the chain."""
        return self.journal.head()

    def read(self, query: Query) -> Iterator[Record]:
        """Yield the records asked for."""
        return self.journal.read(query)

    def wait(self, after: int, seconds: float) -> bool:
        """Wait for a record beyond `after`."""
        return self.journal.wait(after, seconds)


def _number(record: Record) -> int:
    return record.seq
