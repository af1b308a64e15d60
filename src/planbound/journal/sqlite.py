"""The journal in an SQLite file."""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from planbound.journal import sqlite_file
from planbound.journal.record import (
    GENESIS,
    Draft,
    Head,
    HeldLease,
    LeaseState,
    Query,
    Record,
    check_lease,
)
from planbound.journal.sql import (
    COLUMNS,
    Ask,
    Dialect,
    Reading,
    Row,
    Statement,
    from_row,
    head,
    insert,
    lease_state,
    place,
    to_row,
)
from planbound.journal.sqlite_file import Opened

if TYPE_CHECKING:
    from planbound.journal.leases import SqlLeases


# -- the end of an SQLite journal as who appends sees it -----------------------------------------


DIALECT = Dialect("journal", "?", "lease", is_led=True)
_RECORD = f"SELECT {', '.join(COLUMNS)} FROM journal WHERE id = ?"  # noqa: S608 - our own names
_LAST = "SELECT plan_seq FROM journal WHERE plan = ? ORDER BY seq DESC LIMIT 1"


class SqliteTail:
    """Where the next records go; used in a transaction that may write."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def head(self) -> Head:
        """Return the end of the chain."""
        row = self._connection.execute(*head(DIALECT)).fetchone()
        return GENESIS if row is None else Head(*row)

    def find(self, identity: str) -> Record | None:
        """Return the record of an event that is there already."""
        try:
            row = self._connection.execute(_RECORD, (identity,)).fetchone()
        except UnicodeEncodeError:  # half a character: nobody could have written it
            return None
        return None if row is None else from_row(row)

    def last_of_plan(self, plan: str) -> int:
        """Return the number of the plan's last record within the plan, 0 for a new plan."""
        row = self._connection.execute(_LAST, (plan,)).fetchone()
        return 0 if row is None else int(row[0])

    def lease_state(self, plan: str) -> LeaseState | None:
        """Return how the lease of a plan stands; None where there never was one."""
        row = self._connection.execute(*lease_state(DIALECT, plan)).fetchone()
        return None if row is None else LeaseState(*row)

    def write(self, records: Sequence[Record]) -> None:
        """Add new records."""
        self._connection.executemany(insert(DIALECT), map(to_row, records))


# -- A connection to a journal's SQLite file that threads take turns with ------------------------


TRUST = 0.05
"""How many seconds to take it for granted that the open file is the one at the path."""


class SqliteHandle:
    """One connection, through which one thread goes at a time."""

    def __init__(self, path: str, opener: Callable[[str], Opened | None]) -> None:
        self._path = path
        self._opener = opener
        self._connection: sqlite3.Connection | None = None
        self._frozen = False
        self._file: tuple[int, int] | None = None
        self._trusted = 0.0
        self.openings = 0
        """How often the file was opened: it may have been another one each time."""
        self.lock = threading.Lock()
        _forks().add(self)

    def __enter__(self) -> sqlite3.Connection | None:
        """Give the connection; None where there is nothing to read."""
        self.lock.acquire()
        try:
            if self._connection is not None and time.monotonic() < self._trusted:
                return self._connection
            return self._opened()
        except BaseException as error:
            self._fail(error)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let the next one in; what SQLite reports becomes a problem."""
        if error is not None:
            self._fail(error)
        else:
            self.lock.release()

    def close(self) -> None:
        """Close the connection when nobody uses it."""
        with self.lock:
            self.shut()

    def shut(self) -> None:
        """Close the connection; the caller has the lock."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _fail(self, error: BaseException) -> None:
        try:
            if isinstance(error, sqlite3.Error):
                self.shut()  # what state it is in after a failure nobody knows
                raise sqlite_file.problem(self._path, error) from error
            if isinstance(error, UnicodeDecodeError):  # a message that quotes what is damaged
                self.shut()
                damaged = sqlite3.DatabaseError("the file is damaged")
                raise sqlite_file.problem(self._path, damaged) from error
        finally:
            self.lock.release()

    def _opened(self) -> sqlite3.Connection | None:
        # A file that was put in the place of the open one, or took it away, counts.
        if self._connection is not None and (self._frozen or _identity(self._path) != self._file):
            self.shut()
        if self._connection is None:
            opened = self._opener(self._path)
            if opened is None:
                return None
            self._connection = opened.connection
            self.openings += 1
            self._frozen = opened.frozen
            self._file = _identity(self._path)
        self._trusted = 0.0 if self._frozen else time.monotonic() + TRUST
        return self._connection


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


# -- forks -------------------------------------------------------------------------------------
# SQLite forbids a connection to live on in a forked process, and remembers its locks per process,
# where a fork does not have them. So everything is closed before a fork, and opened again after.


class _SqliteHandles:
    def __init__(self) -> None:
        self._all: weakref.WeakSet[SqliteHandle] = weakref.WeakSet()
        self._held: list[SqliteHandle] = []
        self._one_fork = threading.Lock()

    def add(self, handle: SqliteHandle) -> None:
        with self._one_fork:
            self._all.add(handle)

    def close(self) -> None:
        self._one_fork.acquire()  # two threads that fork at once would lose what the first holds
        self._held = list(self._all)
        for handle in self._held:
            handle.lock.acquire()
            handle.shut()

    def open(self) -> None:
        for handle in self._held:
            handle.lock.release()
        self._held = []
        self._one_fork.release()


@functools.cache
def _forks() -> _SqliteHandles:
    handles = _SqliteHandles()
    os.register_at_fork(
        before=handles.close, after_in_parent=handles.open, after_in_child=handles.open
    )
    return handles


# -- the journal in an SQLite file ---------------------------------------------------------------


_LONGEST = 0.5
_SHORTEST = 0.002


class SqliteJournal:
    """A journal in one file, for any number of threads and processes of one machine.

    Nothing is opened before it is needed, and nothing is made before the first append.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        # Two connections: who reads does not wait for who waits for its turn to write.
        self._writer = SqliteHandle(path, sqlite_file.open_writable)
        self._reader = SqliteHandle(path, sqlite_file.open_readable)
        self._reading = Reading(DIALECT, self._ask)
        self._leases_seen = 0
        """In which opening of the file leases were seen."""

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expected: Head | None = None,
        held_lease: HeldLease | None = None,
    ) -> Sequence[Record]:
        """Append all or nothing, durable on return."""
        if not drafts:
            return ()
        with self._writer as connection:
            assert connection is not None
            sqlite_file.begin(connection)
            try:
                tail = SqliteTail(connection)
                if held_lease is not None:
                    check_lease(held_lease, tail.lease_state(held_lease.plan))
                placed = place(drafts, expected, tail)
                tail.write(placed.new)
                connection.execute("COMMIT")
            except BaseException:
                sqlite_file.roll_back(connection)
                raise
        return placed.records

    def head(self) -> Head:
        """Return the end of the chain."""
        return self._reading.head()

    def hashes(self, upto: int) -> list[bytes]:
        """Return the hashes of the records up to a number."""
        return self._reading.hashes(upto)

    def read(self, query: Query) -> Iterator[Record]:
        """Yield the records asked for, in ascending order, page by page."""
        return self._reading.records(query)

    def wait(self, after: int, seconds: float) -> bool:
        """Return True as soon as there is a record beyond `after`, False when the time is up."""
        from planbound.disk.watch import FolderWatch  # noqa: PLC0415 - loads ctypes; few wait

        end = time.monotonic() + seconds
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
        from planbound.disk.lock import boot_id, machine_clock  # noqa: PLC0415 - not every command
        from planbound.journal.leases import DatabaseTime, SqlLeases  # noqa: PLC0415 - the same

        return SqlLeases(
            DIALECT,
            write=self._writing,
            read=self._ask_leases,
            moment=lambda _: DatabaseTime(boot_id(), machine_clock()),
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
        if not self._leases_seen or self._leases_seen != self._reader.openings:
            made = Statement("SELECT 1 FROM sqlite_master WHERE name = ?", (DIALECT.lease,))
            self._leases_seen = self._reader.openings if self._ask(made) else 0
        return self._ask(statement) if self._leases_seen else ()

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
