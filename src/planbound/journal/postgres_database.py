"""The database of many repositories: how to get there, and what each of them has in it."""

# ruff: noqa: S608 - the schema's name is our own; what users give is bound
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from planbound.disk.extras import install_extra
from planbound.errors import JournalProblem
from planbound.journal.event import EventKind
from planbound.journal.postgres_problem import cure
from planbound.journal.repository import (
    CATALOGUE,
    NamedJournal,
    RepositoryName,
    approved_in,
    find_known,
    refuse_two_journals,
    schema_name,
)
from planbound.journal.sql import Migration, migrations, pending

try:
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import conninfo_to_dict
except ImportError as missing:
    raise JournalProblem(
        f"a journal in PostgreSQL needs the package `psycopg`: {missing}",
        hint=install_extra("postgres"),
    ) from missing

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]

_LOCK = 0x706C616E  # "plan": our half of the key of PostgreSQL's advisory locks
_CONNECT_SECONDS = 10
_FUNCTIONS = ("refuse_change", "check_place", "tell_listeners")


class PostgresDatabase:
    """How to get to the database, and how to speak about it without telling the password."""

    def __init__(self, url: str, repository: RepositoryName) -> None:
        self._url = url
        self._repository = repository
        self._schema: str | None = None
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error:
            # Not chained: the driver's message quotes the address, and so the password.
            raise JournalProblem(
                "the address of the database cannot be read",
                hint="expected `postgresql://user:password@host:5432/database`",
            ) from None
        self._secrets = [str(parts[key]) for key in ("password", "sslpassword") if parts.get(key)]
        host = parts.get("host") or os.environ.get("PGHOST") or "localhost"
        port = parts.get("port")
        self._shown = f"{host}{f':{port}' if port else ''}/{parts.get('dbname') or ''}"
        self._role = str(parts.get("user") or os.environ.get("PGUSER") or "NAME")

    @property
    def is_found(self) -> bool:
        """Whether anybody connected yet, and so knows the schema."""
        return self._schema is not None

    @property
    def schema(self) -> str:
        """The schema of the repository's journal; known to who connected."""
        assert self._schema is not None
        return self._schema

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
                "SET search_path TO pg_catalog, pg_temp;"
                " SELECT set_config('default_transaction_isolation', 'read committed', false),"
                " CASE current_setting('synchronous_commit') WHEN 'off'"
                " THEN set_config('synchronous_commit', 'on', false) END"
            )
            if self._schema is None:
                self._schema = self._find(connection) or self._enter(connection)
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def listen(self) -> Connection:
        """Connect, and ask to be told of new events."""
        connection = self.connect()
        try:
            channel = sql.Identifier(f"{self.schema}_journal")
            connection.execute(sql.SQL("LISTEN {}").format(channel))
        except BaseException:
            connection.close()
            raise
        return connection

    def lock(self, connection: Connection) -> None:
        """Be the only one who appends, to the end of the transaction."""
        _lock(connection, self.schema)

    def first_name(self, connection: Connection) -> str:
        """Return the first of the names that the repository's journal has."""
        found = connection.execute(
            f"SELECT name FROM {CATALOGUE}.repository WHERE schema = %s ORDER BY place LIMIT 1",
            (self.schema,),
        ).fetchone()
        return self._repository.name if found is None else str(found[0])

    @contextlib.contextmanager
    def problems(self) -> Iterator[None]:
        """Say what the driver reports in our words, without the password."""
        try:
            yield
        except psycopg.Error as error:
            # Without the statement and its values: the first sentence says what it is.
            said = error.diag.message_primary or str(error)
            text = self._without_secrets(" ".join(said.split()))
            # Not chained: a report would print the driver's own message.
            raise JournalProblem(
                f"the journal at `{self._without_secrets(self._shown)}` cannot be used: "
                f"{text or type(error).__name__}",
                hint=cure(error.sqlstate, text, self._without_secrets(self._role)),
            ) from None
        except UnicodeError as error:
            raise JournalProblem(f"the journal cannot hold this text: {error}") from error

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***").replace(unquote(secret), "***")
        return text

    # -- which schema is the repository's ------------------------------------------------------

    def _find(self, connection: Connection) -> str | None:
        """Return the repository's schema; None where it has to be entered first."""
        if not _exists(connection, CATALOGUE, "repository"):
            return None
        applied = _numbers(connection, CATALOGUE)
        if self._steps(applied, "catalogue"):
            return None
        rows = connection.execute(
            f"SELECT name, schema FROM {CATALOGUE}.repository WHERE name = ANY(%s)",
            (list(self._repository),),
        )
        named, own = find_known(self._repository, [NamedJournal(*row) for row in rows])
        if named and own and _has_events(connection, own):
            refuse_two_journals(self._repository, self._shown)
        return named

    def _enter(self, connection: Connection) -> str:
        """Enter the repository into the catalogue, which is made where there is none."""
        with connection.transaction():
            # What is asked from here on nobody else changes. Before there was a catalogue, this
            # was the lock of those who append.
            _lock(connection, CATALOGUE)
            self._make_catalogue(connection)
            found = self._find(connection)
            if found is not None:
                return found
            rows = connection.execute(
                f"SELECT schema FROM {CATALOGUE}.repository WHERE name = %s",
                (self._repository.project,),
            ).fetchone()
            # It had a journal before it had a name: that one goes on.
            schema = schema_name(self._repository.name) if rows is None else str(rows[0])
            _add(connection, [self._repository.name], schema)
            connection.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema))
            )
            return schema

    def _make_catalogue(self, connection: Connection) -> None:
        if not _exists(connection, CATALOGUE, "repository"):
            known = self._move_the_only_one(connection)
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOGUE}".encode())
            self._apply(connection, CATALOGUE, migrations("catalogue"))
            for each in known:
                _add(connection, [each.name], each.schema)
            return
        steps = self._steps(_numbers(connection, CATALOGUE), "catalogue")
        self._apply(connection, CATALOGUE, steps)

    def _move_the_only_one(self, connection: Connection) -> Sequence[NamedJournal]:
        """Give the journal that stands where the catalogue will be a schema of its own.

        It belongs to those who approved plans in it: they shared it, and go on sharing it.
        """
        if not _exists(connection, CATALOGUE, "journal"):
            return ()
        self._steps(_numbers(connection, CATALOGUE), "postgres")  # refuses a newer one
        approvals = connection.execute(
            f"SELECT details FROM {CATALOGUE}.journal WHERE event = %s ORDER BY seq",
            (EventKind.GATE_APPROVED.value,),
        ).fetchall()
        projects = approved_in(details for (details,) in approvals)
        projects = projects[::-1] or [self._repository.project]
        schema = schema_name(projects[0])
        connection.execute(
            sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(
                sql.Identifier(CATALOGUE), sql.Identifier(schema)
            )
        )
        with _path(connection, schema):
            for name in _FUNCTIONS:
                connection.execute(f"ALTER FUNCTION {name}() SET search_path FROM CURRENT".encode())
        return [NamedJournal(project, schema) for project in projects]

    # -- the schema's history ------------------------------------------------------------------

    def _migrate(self, connection: Connection) -> None:
        if not self._steps(_numbers(connection, self.schema), "postgres"):
            return
        with connection.transaction():
            self.lock(connection)
            # Asked again under the lock: another process may have done it meanwhile.
            steps = self._steps(_numbers(connection, self.schema), "postgres")
            self._apply(connection, self.schema, steps)

    def _steps(self, applied: set[object], kind: str) -> Sequence[Migration]:
        return pending(applied, migrations(kind), where=f"the journal at `{self._shown}`")

    def _apply(self, connection: Connection, schema: str, steps: Sequence[Migration]) -> None:
        with _path(connection, schema):
            for step in steps:
                connection.execute(step.script.encode())
                connection.execute(
                    "INSERT INTO migration (number, name) VALUES (%s, %s)", (step.number, step.name)
                )


def _lock(connection: Connection, schema: str) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_LOCK, schema))


@contextlib.contextmanager
def _path(connection: Connection, schema: str) -> Iterator[None]:
    """Let names without a schema mean this one, within a transaction."""
    # A temporary schema that is not named comes before all others.
    connection.execute("SELECT set_config('search_path', %s, true)", (f"{schema}, pg_temp",))
    yield
    connection.execute("SELECT set_config('search_path', 'pg_catalog, pg_temp', true)")


def _exists(connection: Connection, schema: str, table: str) -> bool:
    # Not by `to_regclass`: within a transaction it may remember what was not there before the lock.
    found = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace AS place"
        " ON place.oid = relnamespace WHERE nspname = %s AND relname = %s)",
        (schema, table),
    ).fetchone()
    return found is not None and bool(found[0])


def _numbers(connection: Connection, schema: str) -> set[object]:
    """Return which steps of its history a schema has."""
    if not _exists(connection, schema, "migration"):
        return set()
    rows = connection.execute(f"SELECT number FROM {schema}.migration".encode())
    return {number for (number,) in rows}


def _has_events(connection: Connection, schema: str) -> bool:
    if not _exists(connection, schema, "journal"):
        return False
    found = connection.execute(f"SELECT EXISTS (SELECT FROM {schema}.journal)".encode()).fetchone()
    return found is not None and bool(found[0])


def _add(connection: Connection, names: Sequence[str], schema: str) -> None:
    connection.cursor().executemany(
        f"INSERT INTO {CATALOGUE}.repository (name, schema) VALUES (%s, %s)".encode(),
        [(name, schema) for name in names],
    )
