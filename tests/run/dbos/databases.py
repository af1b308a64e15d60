"""Databases of a server, and what DBOS keeps in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo

from tests.run.bench import Bench


def new_database(server: str) -> str:
    """Make a database; return its address."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return make_conninfo(server, dbname=name)


@contextmanager
def new_role(database: str, beginning: str) -> Iterator[str]:
    """Give a name of a role that the server has not; what it owns is gone in the end."""
    name = f"{beginning}{uuid4().hex[:8]}"
    yield name
    with psycopg.connect(database, autocommit=True) as raw:
        if raw.execute("SELECT FROM pg_roles WHERE rolname = %s", (name,)).rowcount:
            raw.execute(f'DROP OWNED BY "{name}"'.encode())
            raw.execute(f'DROP ROLE "{name}"'.encode())


def kept_by_dbos(bench: Bench) -> list[str]:
    """Return the workflows that DBOS knows, and the steps of each as often as it has some."""
    statement = (
        "SELECT workflow_uuid FROM {0}workflow_status"
        " UNION ALL SELECT workflow_uuid FROM {0}operation_outputs"
    )
    address = bench.extra.get("PLANBOUND_DATABASE_URL")
    if address is not None:
        with psycopg.connect(address) as connection:
            rows = connection.execute(statement.format("planbound_dbos.").encode()).fetchall()
    else:
        connection_ = sqlite3.connect(bench.folder / "state" / "dbos.sqlite")
        rows = connection_.execute(statement.format("")).fetchall()
        connection_.close()
    return [str(row[0]) for row in rows]


def write_rows(bench: Bench, *rows: dict[str, str]) -> None:
    """Write to the queue what no Planbound would: its first row, with other values."""
    address = bench.extra.get("PLANBOUND_DATABASE_URL")
    if address is not None:
        with psycopg.connect(address) as connection:
            connection.execute("SET LOCAL search_path TO planbound_dbos")
            found = connection.execute("SELECT * FROM workflow_status LIMIT 1")
            columns = [column.name for column in found.description or ()]
            for statement in _copies(columns, rows, "%s"):
                connection.execute(statement[0].encode(), statement[1])
        return
    with closing(sqlite3.connect(bench.folder / "state" / "dbos.sqlite")) as file, file:
        columns = [row[1] for row in file.execute("PRAGMA table_info(workflow_status)")]
        for statement in _copies(columns, rows, "?"):
            file.execute(*statement)


def _copies(
    columns: Sequence[str], rows: Sequence[dict[str, str]], mark: str
) -> Iterator[tuple[str, list[str]]]:
    for row in rows:
        given = ", ".join(mark if column in row else column for column in columns)
        text = (
            f"INSERT INTO workflow_status ({', '.join(columns)}) SELECT {given}"
            " FROM workflow_status ORDER BY created_at LIMIT 1"
        )
        yield text, [row[column] for column in columns if column in row]
