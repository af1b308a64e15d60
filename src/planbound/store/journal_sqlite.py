"""The journal in an SQLite file."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from planbound.engine.fence import Fence, check_fence
from planbound.journal.record import Draft, Head, Record
from planbound.ports.journal import Query
from planbound.store import sqlite_file
from planbound.store.sql.placing import place
from planbound.store.sql.query import Statement
from planbound.store.sql.reading import Ask, Reading
from planbound.store.sql.rows import Row
from planbound.store.sqlite_door import SqliteDoor
from planbound.store.sqlite_tail import DIALECT, SqliteTail

if TYPE_CHECKING:
    from planbound.store.sql.leases import SqlLeases

_LONGEST = 0.5
_SHORTEST = 0.002


class SqliteJournal:
    """A journal in one file, for any number of threads and processes of one machine.

    Nothing is opened before it is needed, and nothing is made before the first append.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        # Two connections: who reads does not wait for who waits for its turn to write.
        self._writer = SqliteDoor(path, sqlite_file.open_writable)
        self._reader = SqliteDoor(path, sqlite_file.open_readable)
        self._tail: SqliteTail | None = None
        self._reading = Reading(DIALECT, self._ask)

    def append(
        self, drafts: Sequence[Draft], *, expected: Head | None = None, fence: Fence | None = None
    ) -> Sequence[Record]:
        """Append all or nothing, durable on return."""
        if not drafts:
            return ()
        with self._writer as connection:
            assert connection is not None
            tail = self._tail
            if tail is None or tail.connection is not connection:
                tail = self._tail = SqliteTail(connection)
            if len(drafts) == 1:
                record = sqlite_file.patiently(tail.append, drafts[0], expected, fence)
                if record is not None:
                    return [record]
            sqlite_file.begin(connection)
            try:
                if fence is not None:
                    check_fence(fence, tail.standing(fence.plan))
                placed = place(drafts, expected, tail)
                if placed.new:
                    tail.write(placed.new)
                else:
                    sqlite_file.roll_back(connection)
            except BaseException:
                sqlite_file.roll_back(connection)
                raise
        return placed.records

    def head(self) -> Head:
        """Return the end of the chain."""
        return self._reading.head()

    def read(self, query: Query) -> Iterator[Record]:
        """Yield the records asked for, in ascending order, page by page."""
        return self._reading.records(query)

    def wait(self, after: int, seconds: float) -> bool:
        """Return True as soon as there is a record beyond `after`, False when the time is up."""
        end = time.monotonic() + seconds
        from planbound.store.folder_watch import FolderWatch  # noqa: PLC0415 - few follow

        with FolderWatch(os.path.dirname(os.path.abspath(self._path))) as watch:
            pause = _LONGEST
            while self.head().seq <= after:
                left = end - time.monotonic()
                if left <= 0:
                    return False
                # The log is written before the commit can be seen, and nobody tells of that: so
                # soon after a change look again, then ever less often.
                changed = watch.wait(min(left, pause))
                pause = _SHORTEST if changed else min(pause * 2, _LONGEST)
        return True

    def leases(self) -> SqlLeases:
        """Return the leases that are kept beside the events."""
        from planbound.store.lock import boot_id, machine_clock  # noqa: PLC0415 - not every command
        from planbound.store.sql.leases import Moment, SqlLeases  # noqa: PLC0415 - the same

        return SqlLeases(
            DIALECT,
            write=self._writing,
            read=self._ask_leases,
            moment=lambda _: Moment(boot_id(), machine_clock()),
        )

    def close(self) -> None:
        """Let go of the file; the journal can still be used and opens it again."""
        self._writer.close()
        self._reader.close()

    def _ask(self, statement: Statement) -> Sequence[Row]:
        with self._reader as connection:
            if connection is None:
                return ()
            return sqlite_file.patiently(
                lambda: connection.execute(statement.text, statement.values).fetchall()
            )

    def _ask_leases(self, statement: Statement) -> Sequence[Row]:
        # The file may be of an older version, which had no leases, and nobody wrote to it since.
        made = Statement("SELECT 1 FROM sqlite_master WHERE name = ?", (DIALECT.lease,))
        return self._ask(statement) if self._ask(made) else ()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Ask]:
        with self._writer as connection:
            assert connection is not None
            sqlite_file.begin(connection)
            try:
                yield lambda statement: connection.execute(*statement).fetchall()
                connection.execute("COMMIT")
            except BaseException:
                sqlite_file.roll_back(connection)
                raise
