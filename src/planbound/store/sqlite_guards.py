"""Do the triggers that keep the journal append-only still stand as they were made?

Whoever cuts the end off a journal has to take them away first. Even where they are put back, SQLite
has counted the changes of its schema. An old copy of the file has them as they were, and so has
the journal of an older version, to which nobody wrote since.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence

from planbound.store.sql.migrations import Migration, migrations
from planbound.store.sqlite_address import file_address

_GUARDS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"


def guards_stand(path: str) -> bool | None:
    """Say whether the schema is the one that we made; None where it cannot be told."""
    try:
        address = file_address(path, "mode=ro")
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            applied = {number for (number,) in connection.execute("SELECT number FROM migration")}
            known = migrations("sqlite")
            if not applied <= {migration.number for migration in known}:
                return None
            made = [migration for migration in known if migration.number in applied]
            return _schema(connection) == _made(made)
    except sqlite3.Error:
        return None


def _made(steps: Sequence[Migration]) -> tuple[object, ...]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for migration in steps:
            connection.executescript(migration.script)
        return _schema(connection)


def _schema(connection: sqlite3.Connection) -> tuple[object, ...]:
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    return (version, *connection.execute(_GUARDS).fetchall())
