"""The journal in a PostgreSQL database, for workers on several machines.

Import this module only where a database is configured: the driver takes 0.15 seconds to load.
"""

# ruff: noqa: S608 - the schema's name is checked; what users give is bound
from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from planbound.journal import sql as questions
from planbound.journal.postgres_append import placed_record, statement_at_end, values_of
from planbound.journal.postgres_database import Connection, Cursor, PostgresDatabase
from planbound.journal.postgres_grants import Grants
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
from planbound.journal.repository import QUEUE, RepositoryName
from planbound.journal.sql import (
    COLUMNS,
    Ask,
    Dialect,
    Reading,
    Row,
    Statement,
    from_row,
    insert,
    place,
    to_row,
)

if TYPE_CHECKING:
    from planbound.journal.leases import SqlLeases

_LONGEST = 30.0
"""How many seconds to trust a silent connection while waiting."""


class PostgresJournal:
    """A repository's journal in a database, for any number of threads, processes and machines.

    It has a schema of its own there, and so a chain, leases and a lock of its own. Nothing is
    opened before it is needed; what is not there yet is made by the first who comes.
    """

    def __init__(
        self, url: str, repository: RepositoryName, *, beside: PostgresJournal | None = None
    ) -> None:
        """`beside`: another one of the same, which may know already where it is."""
        known = None if beside is None else beside.database
        self.database: PostgresDatabase = known or PostgresDatabase(url, repository)
        self._handles = _PostgresHandles(self.database)

    @cached_property
    def schema(self) -> str:
        """The schema that holds it; known to who has a connection, and asked for by others."""
        if not self.database.is_found:
            with self._here().reader.enter():
                pass
        return self.database.schema

    @cached_property
    def name(self) -> str:
        """The first name of the repository, by which all its machines know the queue."""
        with self._here().reader.enter() as connection:
            return self.database.first_name(connection)

    @cached_property
    def _dialect(self) -> Dialect:
        return Dialect(f"{self.schema}.journal", "%s", f"{self.schema}.lease", is_led=False)

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self._dialect, self._ask)

    def grants(self, role: str) -> Grants:
        """Return what a role of workers needs here, and no more."""
        with self._here().reader.enter() as connection:
            found = connection.execute(
                "SELECT current_database(), to_regnamespace(%s) IS NOT NULL", (QUEUE,)
            ).fetchone()
            assert found is not None
            return Grants(role, database=found[0], schema=self.database.schema, has_queue=found[1])

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
        if expected is None:
            return self._append_wherever_the_end_is(drafts, held_lease)
        dialect = self._dialect
        with (
            self._here().writer.enter() as connection,
            connection.pipeline(),
            connection.transaction(),
        ):
            self.database.lock(connection)
            tail = _PostgresTail(dialect, connection, drafts, held_lease)
            if held_lease is not None:
                check_lease(held_lease, tail.lease_state)
            placed = place(drafts, expected, tail)
            if placed.new:
                statement = insert(dialect).encode()
                connection.cursor().executemany(statement, map(to_row, placed.new))
        return placed.records

    def _append_wherever_the_end_is(
        self, drafts: Sequence[Draft], held_lease: HeldLease | None
    ) -> Sequence[Record]:
        """Let the server put the drafts at the end: nobody waits while answers travel.

        All is sent at once, so the lock is held as long as the server needs, and not the network.
        """
        wanted = [values_of(draft, held_lease) for draft in drafts]
        with self._here().writer.enter() as connection:
            text = statement_at_end(self._dialect, is_leased=held_lease is not None).encode()
            # Without a BEGIN: what is sent before one waits for an answer is one transaction, and
            # ends by itself, so the answers come back in one trip.
            with connection.pipeline():
                self.database.lock(connection)
                cursors = [connection.execute(text, values) for values in wanted]
            rows = [cursor.fetchone() for cursor in cursors]
            return self._records_of(connection, drafts, rows, held_lease)

    def _records_of(
        self,
        connection: Connection,
        drafts: Sequence[Draft],
        rows: Sequence[Row | None],
        held_lease: HeldLease | None,
    ) -> Sequence[Record]:
        """Return the records of drafts of which some were there already; or nobody may write."""
        if held_lease is not None and not any(rows):
            asked = questions.lease_state(self._dialect, held_lease.plan)
            found = connection.execute(asked.text.encode(), asked.values).fetchone()
            check_lease(held_lease, None if found is None else LeaseState(*found))
        ids = [draft.id for draft, row in zip(drafts, rows, strict=True) if not row]
        known: dict[str, Record] = {}
        if ids:
            text = f"SELECT {', '.join(COLUMNS)} FROM {self._dialect.table} WHERE id = ANY(%s)"
            old = map(from_row, connection.execute(text.encode(), (ids,)))
            known = {record.draft.id: record for record in old}
        return [
            placed_record(draft, row) if row else known[draft.id]
            for draft, row in zip(drafts, rows, strict=True)
        ]

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
        end = time.monotonic() + seconds
        if self.head().seq > after:
            return True
        with self._here().listening() as connection:
            while self.head().seq <= after:
                left = end - time.monotonic()
                if left <= 0:
                    return False
                for _ in connection.notifies(timeout=min(left, _LONGEST), stop_after=1):
                    pass
        return True

    def leases(self) -> SqlLeases:
        """Return the leases that are kept beside the events, by the clock of the server."""
        from planbound.journal.leases import DatabaseTime, SqlLeases  # noqa: PLC0415 - not every command

        now = Statement("SELECT extract(epoch FROM clock_timestamp())::float8", ())
        return SqlLeases(
            self._dialect,
            write=self._writing,
            read=self._ask,
            moment=lambda ask: DatabaseTime("", ask(now)[0][0]),
        )

    def close(self) -> None:
        """Let go of the connections; the journal can still be used and connects again."""
        self._here().close()

    def _ask(self, statement: Statement) -> Sequence[Row]:
        with self._here().reader.enter() as connection:
            return _rows(connection, statement)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Ask]:
        with self._here().writer.enter() as connection, connection.transaction():
            self.database.lock(connection)
            yield lambda statement: _rows(connection, statement)

    def _here(self) -> _PostgresHandles:
        # A forked process leaves its parent's connections alone and gets its own.
        if self._handles.process != os.getpid():
            self._handles = _PostgresHandles(self.database)
        return self._handles


def _rows(connection: Connection, statement: Statement) -> Sequence[Row]:
    cursor = connection.execute(statement.text.encode(), statement.values)
    return cursor.fetchall() if cursor.description else ()


class _PostgresTail:
    """Where the drafts go; used within a transaction that holds the lock, and in its pipeline.

    All that is needed is asked for at once, in one trip to the server and back.
    """

    def __init__(
        self,
        dialect: Dialect,
        connection: Connection,
        drafts: Sequence[Draft],
        held_lease: HeldLease | None,
    ) -> None:
        def ask(text: str, *values: object) -> Cursor:
            return connection.execute(text.encode(), values)

        table = dialect.table
        ids = [draft.id for draft in drafts]
        plans = list({draft.plan for draft in drafts})
        head = ask(questions.head(dialect).text)
        known = ask(f"SELECT {', '.join(COLUMNS)} FROM {table} WHERE id = ANY(%s)", ids)
        last = ask(
            f"SELECT plan, (SELECT plan_seq FROM {table} AS old WHERE old.plan = asked.plan"
            " ORDER BY seq DESC LIMIT 1) FROM unnest(%s::text[]) AS asked (plan)",
            plans,
        )
        lease = None
        if held_lease is not None:
            asked = questions.lease_state(dialect, held_lease.plan)
            lease = ask(asked.text, *asked.values)
        row = head.fetchone()
        self._head = GENESIS if row is None else Head(*row)
        self._known = {record.draft.id: record for record in map(from_row, known)}
        self._last = {plan: plan_seq or 0 for plan, plan_seq in last}
        found = None if lease is None else lease.fetchone()
        self.lease_state = None if found is None else LeaseState(*found)

    def head(self) -> Head:
        """Return the end of the chain."""
        return self._head

    def find(self, identity: str) -> Record | None:
        """Return the record of an event that is there already."""
        return self._known.get(identity)

    def last_of_plan(self, plan: str) -> int:
        """Return the number of the plan's last record within the plan, 0 for a new plan."""
        return self._last[plan]


class _PostgresHandles:
    """The connections of one process.

    Two for asking: who reads does not wait for who waits for its turn to write.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        self.process = os.getpid()
        self.writer = _PostgresHandle(database)
        self.reader = _PostgresHandle(database)
        self._database = database
        self._idle: list[Connection] = []  # listening, and used by nobody at the moment

    @contextlib.contextmanager
    def listening(self) -> Iterator[Connection]:
        """Give a connection that is told of new events."""
        with self._database.problems():
            connection = self._idle.pop() if self._idle else self._database.listen()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)

    def close(self) -> None:
        """Close every connection that nobody uses."""
        self.writer.close()
        self.reader.close()
        while self._idle:
            self._idle.pop().close()


class _PostgresHandle:
    """One connection, through which one thread goes at a time."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def enter(self) -> Iterator[Connection]:
        """Give the connection; connect where there is none, or a broken one."""
        with self._lock, self._database.problems():
            if self._connection is None or self._connection.closed:
                self._connection = self._database.connect()
            yield self._connection

    def close(self) -> None:
        """Close the connection when nobody uses it."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
