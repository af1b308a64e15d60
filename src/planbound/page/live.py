"""What happens, as it happens: the events of the journal, each with its number.

Who comes with the number of the last event they saw gets what they missed first, then what
follows: nothing is lost and nothing comes twice. One task looks at the head of the journal for
everybody; who does not read what they are sent waits alone, and holds nothing but their place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from itertools import islice

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


class LiveStream:
    """Everybody who follows the journal."""

    def __init__(self, open_journal: Callable[[], Journal | None]) -> None:
        self._open = open_journal
        self._journal: Journal | None = None
        self._seq = 0
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

    async def watch(self) -> None:
        """Look at the head of the journal, and tell who follows that there is something new."""
        while not self._stopped:
            if self.followers:
                seq = await anyio.to_thread.run_sync(self._head)
                if seq != self._seq:
                    self._seq = seq
                    self._tell()
            await anyio.sleep(LOOK_EVERY)

    def _head(self) -> int:
        try:
            if self._journal is None:
                self._journal = self._open()
            return 0 if self._journal is None else self._journal.head().seq
        except PlanboundError:  # the pages say what is wrong with it
            return self._seq

    def _read(self, plan: str | None, after: int) -> list[Record]:
        try:
            if self._journal is None:
                self._journal = self._open()
            if self._journal is None:
                return []
            return list(islice(self._journal.read(Query(plan=plan, after=after)), _AT_ONCE))
        except PlanboundError:
            return []

    async def follow(self, asked: Mapping[str, str], after: int) -> AsyncIterator[bytes]:
        """Yield what happened after an event, and then what happens."""
        plan, quiet = asked.get("plan") or None, "quiet" in asked
        self.followers += 1
        try:
            yield b"retry: 1000\n\n"
            while not self._stopped:
                news = self._news
                records = await anyio.to_thread.run_sync(self._read, plan, after)
                if records:
                    after = records[-1].seq
                    told = b"" if quiet else b"".join(map(_message, records))
                    yield told + _changed(after)
                    continue
                with anyio.move_on_after(STILL_HERE) as waited:
                    await news.wait()
                if waited.cancelled_caught:
                    yield b": still here\n\n"
        finally:
            self.followers -= 1


def _message(record: Record) -> bytes:
    """Return an event of the stream: its number, and how it is shown."""
    shown = str(join(event_line(record)))
    lines = "".join(f"data: {line}\n" for line in shown.split("\n"))
    return f"id: {record.seq}\n{lines}\n".encode("utf-8", "surrogateescape")


def _changed(seq: int) -> bytes:
    """Return the word to every part of a page that it may look otherwise now."""
    return f"id: {seq}\nevent: changed\ndata: {seq}\n\n".encode()
