"""The database of DBOS: where it is, made once, and quiet.

Import this module only where DBOS is wanted: it takes half a second to load.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator

from planbound.errors import ConfigurationError, JournalProblem
from planbound.usecases.extras import install_extra

try:
    import psycopg
    from dbos import (
        DBOS,
        DBOSConfig,
        DBOSPortableJSONSerializer,
        EnqueueOptions,
        SetWorkflowID,
        error,
    )
    from sqlalchemy import Engine, create_engine, event
    from sqlalchemy.exc import SQLAlchemyError
except ImportError as missing:
    raise ConfigurationError(
        f"the motor `dbos` and workers need the package `dbos`: {missing}",
        hint=install_extra("dbos"),
    ) from missing

__all__ = ["DBOS", "DbosDatabase", "EnqueueOptions", "SetWorkflowID", "error"]

NAME = "planbound"
VERSION = "planbound-1"
"""What DBOS knows our workflows by: our own, so that no new release of ours strands a workflow."""
SCHEMA = "planbound_dbos"

_PATIENCE = 30.0
_CONNECT_SECONDS = 10

_PROBLEMS = (
    *(error.DBOSException, error.DBOSBaseException),
    *(SQLAlchemyError, psycopg.Error, sqlite3.Error),
)

Lock = Callable[[], contextlib.AbstractContextManager[object]]


class DbosDatabase:
    """A file in the state home, or a schema of its own in PostgreSQL."""

    def __init__(self, *, path: str, url: str | None, lock: Lock) -> None:
        self.path = path
        self.url = url
        self._lock = lock
        """Keeps all others out while a new file is made: first launches race for it."""
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """Return what connects to it."""
        if self._engine is None:
            self._engine = self._postgres(self.url) if self.url else self._sqlite()
        return self._engine

    def configuration(self, executor: str) -> DBOSConfig:
        """Return how DBOS is started here: nothing is printed, and nobody is called."""
        hush()
        return DBOSConfig(
            name=NAME,
            application_version=VERSION,
            executor_id=executor,
            system_database_engine=self.engine,
            dbos_system_schema=SCHEMA,
            serializer=DBOSPortableJSONSerializer(),
            log_level="CRITICAL",
            enable_otlp=False,
            # Where nothing notifies, as in SQLite, this is how soon a wait ends that is over.
            notification_listener_polling_interval_sec=0.1,
        )

    @contextlib.contextmanager
    def making(self) -> Iterator[None]:
        """Keep others out where the tables may have to be made."""
        with contextlib.ExitStack() as stack:
            if not self.url:
                stack.enter_context(self._lock())
            yield

    @contextlib.contextmanager
    def problems(self) -> Iterator[None]:
        """Say in our words what DBOS and its database report."""
        try:
            yield
        except _PROBLEMS as found:
            shown = "PLANBOUND_DATABASE_URL" if self.url else self.path
            # Not chained, and only its kind: the driver's own message may quote the address.
            raise JournalProblem(
                f"the database of the motor `dbos` (`{shown}`) cannot be used:"
                f" {type(found).__name__}{'' if self.url else f': {found}'}",
                hint="the motor `inline` needs none",
            ) from None

    def _sqlite(self) -> Engine:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        engine = create_engine(f"sqlite:///{self.path}")
        event.listen(engine, "connect", _settle)
        return engine

    def _postgres(self, url: str) -> Engine:
        def connect() -> psycopg.Connection[tuple[object, ...]]:
            return psycopg.connect(
                url, connect_timeout=_CONNECT_SECONDS, fallback_application_name=NAME
            )

        # By a function and not by the address: SQLAlchemy reads fewer forms of it than we do.
        return create_engine("postgresql+psycopg://", creator=connect, pool_pre_ping=True)


def _settle(connection: sqlite3.Connection, _: object) -> None:
    # As DBOS sets its own connections up, and durable: it would sync four times for each commit.
    connection.isolation_level = "IMMEDIATE"
    connection.execute(f"PRAGMA busy_timeout = {int(_PATIENCE * 1000)}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def hush() -> None:
    """Let DBOS log to nobody: what it has to say, it says to us."""
    log = logging.getLogger("dbos")
    log.propagate = False
    if not log.handlers:
        log.addHandler(logging.NullHandler())
