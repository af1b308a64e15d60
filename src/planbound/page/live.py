"""What happens, as it happens: the events of the journal, each with its number.

Who comes with the number of the last event they saw gets what they missed first, then what
follows: nothing is lost and nothing comes twice. One task looks at the journal for everybody, and
makes each message once; who does not read what they are sent waits alone, and holds nothing but
their place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import anyio
import anyio.to_thread

from planbound.errors import PlanboundError
from planbound.journal.record import Journal, Query, Record
from planbound.page.story_line import event_line
from planbound.receipts.html import join

LOOK_EVERY = 0.05
"""In seconds: how often the head of the journal is looked at while somebody follows."""
STILL_HERE = 15.0
"""In seconds: so often who follows hears from us, so that one who is gone is noticed."""
_AT_ONCE = 200
_RECENT = 500
"""So many messages are at hand; who is further behind reads the journal."""


class _StreamLine(NamedTuple):
    """An event as it is sent."""

    seq: int
    plan: str
    message: bytes


class LiveStream:
    """Everybody who follows the journal."""

    def __init__(self, open_journal: Callable[[], Journal | None]) -> None:
        self._open = open_journal
        self._journal: Journal | None = None
        self._recent: deque[_StreamLine] = deque()
        self._from, self._upto = 0, 0
        """The messages of all events beyond the first of these numbers, up to the second, are at
        hand."""
        self._begun = False
        self._journals = 0
        """How often the journal was found shorter than before: it is another one then."""
        self._news = anyio.Event()
        self._stopped = False
        self.followers = 0

    def stop(self) -> None:
        """Let everybody go."""
        self._stopped = True
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    # -- what is new -----------------------------------------------------------------------------

    async def watch(self) -> None:
        """Look at the journal, and tell who follows that there is something new."""
        while not self._stopped:
            if self.followers:
                head = await anyio.to_thread.run_sync(self._head)
                if head is not None and head != self._upto:
                    await self._take(head)
                    self._tell()
            await anyio.sleep(LOOK_EVERY)

    async def _take(self, head: int) -> None:
        """Take the messages of what is new; of very much, and at first, only where it ends."""
        self._journals += self._begun and head < self._upto
        if not self._begun or not 0 < head - self._upto <= _RECENT:
            self._recent.clear()
            self._from = self._upto = head
            self._begun = True
            return
        records = await anyio.to_thread.run_sync(self._read, None, self._upto, _RECENT)
        for record in records:
            self._recent.append(_told(record))
            self._upto = record.seq
        while len(self._recent) > _RECENT:
            self._from = self._recent.popleft().seq

    def _head(self) -> int | None:
        try:
            journal = self._reading()
            return 0 if journal is None else journal.head().seq
        except PlanboundError:  # the pages say what is wrong with it
            return None

    def _read(self, plan: str | None, after: int, most: int) -> list[Record]:
        try:
            journal = self._reading()
            if journal is None:
                return []
            return list(islice(journal.read(Query(plan=plan, after=after)), most))
        except PlanboundError:
            return []

    def _reading(self) -> Journal | None:
        if self._journal is None:
            self._journal = self._open()
        return self._journal

    # -- who follows -----------------------------------------------------------------------------

    async def follow(self, asked: Mapping[str, str], after: int) -> AsyncIterator[bytes]:
        """Yield what happened after an event, and then what happens.

        Who saw more than there is saw another journal, and gets all of this one.
        """
        plan, quiet = asked.get("plan") or None, "quiet" in asked
        self.followers += 1
        try:
            yield b"retry: 1000\n\n"
            journals, head = self._journals, await anyio.to_thread.run_sync(self._head)
            if head is not None and after > head:
                after = 0
            while not self._stopped:
                news = self._news
                if journals != self._journals:
                    journals, after = self._journals, 0
                told, after = await self._next(plan, after)
                if told:
                    messages = b"" if quiet else b"".join(each.message for each in told)
                    yield messages + _changed(told[-1].seq)
                    continue
                with anyio.move_on_after(STILL_HERE) as waited:
                    await news.wait()
                if waited.cancelled_caught:
                    yield b": still here\n\n"
        finally:
            self.followers -= 1

    async def _next(self, plan: str | None, after: int) -> tuple[Sequence[_StreamLine], int]:
        """Return the next messages, and up to which event nothing was left out."""
        if self._begun and after >= self._from:
            wanted = (each for each in self._recent if each.seq > after)
            found = [each for each in wanted if plan is None or each.plan == plan]
            return found, max(after, self._upto)
        return await anyio.to_thread.run_sync(self._catch_up, plan, after)

    def _catch_up(self, plan: str | None, after: int) -> tuple[Sequence[_StreamLine], int]:
        head = self._head()
        found = [_told(record) for record in self._read(plan, after, _AT_ONCE)]
        if len(found) == _AT_ONCE:
            return found, found[-1].seq
        return found, max(head or 0, after, found[-1].seq if found else 0)


def _told(record: Record) -> _StreamLine:
    """Return an event of the stream: its number, and how it is shown."""
    shown = str(join(event_line(record)))
    lines = "".join(f"data: {line}\n" for line in shown.split("\n"))
    message = f"id: {record.seq}\n{lines}\n".encode("utf-8", "surrogateescape")
    return _StreamLine(record.seq, record.draft.plan, message)


def _changed(seq: int) -> bytes:
    """Return the word to every part of a page that it may look otherwise now."""
    return f"id: {seq}\nevent: changed\ndata: {seq}\n\n".encode()
