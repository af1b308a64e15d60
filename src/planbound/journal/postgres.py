"""The journal in a PostgreSQL database, for workers on several machines.

Import this module only where a database is configured: the driver takes 0.15 seconds to load.
"""

# ruff: noqa: S608 - the schema's name is checked; what users give is bound
from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from planbound.disk.extras import install_extra
from planbound.errors import JournalProblem
from planbound.journal import sql as questions
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
    Migration,
    Reading,
    Row,
    Statement,
    from_row,
    insert,
    migrations,
    pending,
    place,
    to_row,
)

try:
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import conninfo_to_dict
except ImportError as missing:
    raise JournalProblem(
        f"a journal in PostgreSQL needs the package `psycopg`: {missing}",
        hint=install_extra("postgres"),
    ) from missing

if TYPE_CHECKING:
    from planbound.journal.leases import SqlLeases

Connection = psycopg.Connection[tuple[Any, ...]]

_LOCK = 0x706C616E  # "plan": our half of the key of PostgreSQL's advisory locks
_CONNECT_SECONDS = 10
_LONGEST = 30.0
"""How many seconds to trust a silent connection while waiting."""


class PostgresJournal:
    """A journal in one schema of a database, for any number of threads, processes and machines.

    Nothing is opened before it is needed. The schema is made by the first who comes.
    """

    def __init__(self, url: str, *, schema: str = "planbound") -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,47}", schema):
            raise JournalProblem(
                f"`{schema}` is not the name of a schema: expected at most 48 of a-z, 0-9 and _"
            )
        self._database = _Database(url, schema)
        self._dialect = Dialect(f"{schema}.journal", "%s", f"{schema}.lease", is_led=False)
        self._reading = Reading(self._dialect, self._ask)
        self._handles = _PostgresHandles(self._database)

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
        with (
            self._here().writer.enter() as connection,
            connection.pipeline(),
            connection.transaction(),
        ):
            self._database.lock(connection)
            tail = _PostgresTail(self._dialect, connection, drafts, held_lease)
            if held_lease is not None:
                check_lease(held_lease, tail.lease_state)
            placed = place(drafts, expected, tail)
            if placed.new:
                statement = insert(self._dialect).encode()
                connection.cursor().executemany(statement, map(to_row, placed.new))
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
            self._database.lock(connection)
            yield lambda statement: _rows(connection, statement)

    def _here(self) -> _PostgresHandles:
        # A forked process leaves its parent's connections alone and gets its own.
        if self._handles.process != os.getpid():
            self._handles = _PostgresHandles(self._database)
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
        def ask(text: str, *values: object) -> psycopg.Cursor[tuple[Any, ...]]:
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

    def __init__(self, database: _Database) -> None:
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

    def __init__(self, database: _Database) -> None:
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


class _Database:
    """How to get to the database, and how to speak about it without telling the password."""

    def __init__(self, url: str, schema: str) -> None:
        self._url = url
        self._schema = schema
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error:
            # Not chained: the driver's message quotes the address, and so the password.
            raise JournalProblem(
                "the address of the database cannot be read",
                hint="expected `postgresql://user:password@host:5432/database`",
            ) from None
        self._secrets = [str(parts[key]) for key in ("password", "sslpassword") if parts.get(key)]
        host, port = parts.get("host") or "localhost", parts.get("port")
        self._shown = f"{host}{f':{port}' if port else ''}/{parts.get('dbname') or ''}"

    def connect(self) -> Connection:
        """Connect, and bring the schema up to date."""
        connection = psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            fallback_application_name="planbound",
        )
        # Whatever the server's default is: who waited for its turn must see what the others wrote.
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        try:
            connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def listen(self) -> Connection:
        """Connect, and ask to be told of new events."""
        connection = self.connect()
        try:
            channel = sql.Identifier(f"{self._schema}_journal")
            connection.execute(sql.SQL("LISTEN {}").format(channel))
        except BaseException:
            connection.close()
            raise
        return connection

    def lock(self, connection: Connection) -> None:
        """Be the only one who appends, to the end of the transaction."""
        connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_LOCK, self._schema))

    @contextlib.contextmanager
    def problems(self) -> Iterator[None]:
        """Say what the driver reports in our words, without the password."""
        try:
            yield
        except psycopg.Error as error:
            text = " ".join(str(error).split())
            # Not chained: a report would print the driver's own message.
            raise JournalProblem(
                f"the journal at `{self._without_secrets(self._shown)}` cannot be used: "
                f"{self._without_secrets(text) or type(error).__name__}"
            ) from None
        except UnicodeError as error:
            raise JournalProblem(f"the journal cannot hold this text: {error}") from error

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***").replace(unquote(secret), "***")
        return text

    def _migrate(self, connection: Connection) -> None:
        if not self._missing(connection):
            return
        with connection.transaction():
            self.lock(connection)
            schema = sql.Identifier(self._schema)
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(schema))
            # Asked again under the lock: another process may have done it meanwhile.
            for migration in self._missing(connection):
                connection.execute(migration.script.encode())
                connection.execute(
                    "INSERT INTO migration (number, name) VALUES (%s, %s)",
                    (migration.number, migration.name),
                )

    def _missing(self, connection: Connection) -> Sequence[Migration]:
        applied: set[object] = set()
        name = f"{self._schema}.migration"
        found = connection.execute("SELECT to_regclass(%s)", (name,)).fetchone()
        if found is not None and found[0] is not None:
            statement = sql.SQL("SELECT number FROM {}.migration")
            rows = connection.execute(statement.format(sql.Identifier(self._schema))).fetchall()
            applied = {number for (number,) in rows}
        return pending(applied, migrations("postgres"), where=f"the journal at `{self._shown}`")
