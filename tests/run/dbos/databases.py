"""Databases of a server, and what DBOS keeps in them."""

from __future__ import annotations

import sqlite3
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
