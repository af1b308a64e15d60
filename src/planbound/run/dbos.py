"""The motor that is a DBOS workflow: the same turns, with waits that DBOS keeps.

The workflow is as small as can be, and its name never changes. What it calls performs turns, and
these have all their state in the journal. So nothing depends on what DBOS remembers: every driver
of a run, known by its lease, has a workflow of its own. One that a dead process left behind is not
driven by whoever finds it: it ends at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn, TypedDict

from planbound.disk.extras import install_extra
from planbound.errors import ConfigurationError, JournalProblem, PlanboundError
from planbound.journal.event import RunOutcome
from planbound.journal.postgres_problem import cure
from planbound.plan.model import Priority
from planbound.run.loop import (
    Again,
    Asking,
    Halted,
    Later,
    Next,
    RunEnded,
    Turn,
    is_stopped,
    wait_for_answer,
)
from planbound.run.session import RunSession
from planbound.run.workers import Ticket

# -- the database of DBOS: where it is, made once, and quiet -------------------------------------


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
    from dbos._serialization import DefaultSerializer
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


def _refuse_pickle(_: DefaultSerializer, serialized_data: str) -> NoReturn:
    raise JournalProblem(
        f"the queue holds a pickle of {len(serialized_data)} characters: Planbound writes none, and"
        " reads none, as it could run code"
    )


def _read_no_pickles() -> None:
    """Let no row of our own DBOS be unpickled: a process has one, and that of others stays theirs.

    Each row says itself how it is to be read, whatever serializer we name, and others write rows.
    """
    DefaultSerializer.deserialize = _refuse_pickle  # type: ignore[assignment,method-assign]


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
        if self._engine is None:
            self._engine = self._postgres(self.url) if self.url else self._sqlite()
        return self._engine

    def configuration(self, executor: str) -> DBOSConfig:
        """Return how DBOS is started here: nothing is printed, and nobody is called."""
        silence()
        _read_no_pickles()
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
            helps = self._cure(found) if self.url else None
            # Not chained, and only its kind: the driver's own message may quote the address.
            raise JournalProblem(
                f"the database of the motor `dbos` (`{shown}`) cannot be used:"
                f" {type(found).__name__}{'' if self.url else f': {found}'}",
                hint=helps or "the motor `inline` needs none",
            ) from None

    def _cure(self, found: BaseException) -> str | None:
        """Return what helps; the driver's own error is within that of SQLAlchemy."""
        driver = getattr(found, "orig", None) or found
        role = psycopg.conninfo.conninfo_to_dict(self.url or "").get("user")
        return cure(getattr(driver, "sqlstate", None), str(driver), str(role or "NAME"))

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


def silence() -> None:
    """Let DBOS log to nobody: what it has to say, it says to us."""
    log = logging.getLogger("dbos")
    log.propagate = False
    if not log.handlers:
        log.addHandler(logging.NullHandler())


# -- the motor that is a DBOS workflow: the same turns, with waits that DBOS keeps ---------------


WORKFLOW = "planbound.run.v1"
STEP = "planbound.turns.v1"

_BATCH_SECONDS = 0.2
"""How long turns go on before DBOS notes it: each note costs as much as a small step."""
_LONGEST_WAIT = 86_400.0
_LOOK_EVERY = 0.2
_WAKE, _ANSWER = "wake", "answer"


class TurnOutcome(TypedDict, total=False):
    """What turns came to, as DBOS keeps it."""

    said: str
    detail: str
    seconds: float
    """How long there is nothing to do."""


_ELSEWHERE = TurnOutcome(said="halted", detail="another process drives it")


class DbosHost:
    """DBOS in this process, of which there is one."""

    def __init__(self, database: DbosDatabase, executor: str) -> None:
        self.database = database
        self.executor = executor
        self._loops: dict[str, Callable[[], TurnOutcome]] = {}
        self._workflow: Callable[[str], TurnOutcome] | None = None

    def launch(self) -> None:
        """Start it, and make the tables where there are none."""
        with self.database.problems(), self.database.making():
            DBOS(config=self.database.configuration(self.executor))
            # No process of ours lets DBOS take from a queue: that needs a lease.
            DBOS.listen_queues([])

            def workflow(key: str) -> TurnOutcome:
                loop = self._loops.get(key)
                return _ELSEWHERE if loop is None else loop()

            self._workflow = DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)(workflow)
            DBOS.launch()

    def run(self, key: str, loop: Callable[[], TurnOutcome]) -> TurnOutcome:
        """Run a loop as the workflow of that name, in this thread."""
        assert self._workflow is not None
        self._loops[key] = loop
        try:
            with self.database.problems(), SetWorkflowID(key):
                return self._workflow(key)
        finally:
            del self._loops[key]

    def forget(self, prefix: str) -> None:
        """Remove the workflows whose names begin so: the journal knows all that they did."""
        with self.database.problems():
            found = DBOS.list_workflows(
                workflow_id_prefix=prefix, load_input=False, load_output=False
            )
            # Looked at once more: the database may take a `_` for any character.
            keys = [each.workflow_id for each in found if each.workflow_id.startswith(prefix)]
            if keys:
                DBOS.delete_workflows(keys)

    def wake(self, key: str, topic: str) -> None:
        """End a wait of a workflow."""
        with self.database.problems():
            DBOS.send(key, "look", topic)


class RunWorkflow:
    """Drives one run as a DBOS workflow."""

    def __init__(self, host: DbosHost, session: RunSession, *, plan: str, driver: str) -> None:
        self.host = host
        self.session = session
        self._prefix = f"{plan}/"
        self._key = f"{plan}/{driver}"
        self._last: Next = Again()
        self._error: Exception | None = None

    def drive(self, turn: Turn, ask: Callable[[], bool], *, stay: bool) -> Next:
        """Return what the last turn said; `stay`: wait for answers that come by other ways."""
        # Whoever drove this plan before is dead, or can write nothing any more.
        self.host.forget(self._prefix)
        try:
            said = _next(self.host.run(self._key, lambda: self._guarded(turn, ask, stay=stay)))
            self.host.forget(self._key)
        except JournalProblem:
            # Somebody overtook this driver and removed its workflow. What a turn found out counts.
            if self._error is None and not isinstance(self._last, RunEnded | Halted):
                raise
            said = self._last
        if self._error is not None:
            raise self._error
        return said

    # -- the workflow --------------------------------------------------------------------------

    def _guarded(self, turn: Turn, ask: Callable[[], bool], *, stay: bool) -> TurnOutcome:
        """Go through the loop; an error of ours is not DBOS's to keep or to repeat."""
        try:
            return self._loop(turn, ask, stay=stay)
        except PlanboundError as error:
            self._error = error
            return TurnOutcome(said="broken", detail=type(error).__name__)

    def _loop(self, turn: Turn, ask: Callable[[], bool], *, stay: bool) -> TurnOutcome:
        while True:
            said: TurnOutcome = DBOS.run_step({"name": STEP}, self._turns, turn)
            match said["said"]:
                case "again":
                    pass
                case "later":
                    with self._waking(_WAKE, partial(is_stopped, self.session)):
                        DBOS.recv(_WAKE, timeout_seconds=said["seconds"])
                case "asking" if stay:
                    with self._waking(_ANSWER, wait_for_answer(self.session)):
                        DBOS.recv(_ANSWER, timeout_seconds=_LONGEST_WAIT)
                case "asking" if ask():
                    pass
                case _:
                    return said

    def _turns(self, turn: Turn) -> TurnOutcome:
        """Take turns for a moment."""
        end = time.monotonic() + _BATCH_SECONDS
        try:
            self._last = turn()
            while isinstance(self._last, Again) and time.monotonic() < end:
                self._last = turn()
        except Exception as error:  # noqa: BLE001 - raised again when the workflow is over
            self._error = error
            return TurnOutcome(said="broken", detail=type(error).__name__)
        return _said(self._last)

    # -- waiting -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _waking(self, topic: str, over: Callable[[], bool]) -> Iterator[None]:
        """Look meanwhile whether the wait is over, and end it by a message."""
        done = threading.Event()

        def look() -> None:
            while not done.wait(_LOOK_EVERY):
                try:
                    if over():
                        self.host.wake(self._key, topic)
                        return
                except PlanboundError:
                    continue  # the database is away for a moment

        thread = threading.Thread(target=look, name=f"waker-{topic}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def _said(said: Next) -> TurnOutcome:
    match said:
        case Again():
            return TurnOutcome(said="again")
        case Later():
            left = datetime.fromisoformat(said.until) - datetime.now(UTC)
            seconds = min(max(0.0, left.total_seconds()), _LONGEST_WAIT)
            return TurnOutcome(said="later", detail=said.until, seconds=seconds)
        case Asking():
            return TurnOutcome(said="asking")
        case RunEnded():
            return TurnOutcome(said="ended", detail=said.status.value)
        case Halted():
            return TurnOutcome(said="halted", detail=said.reason)


def _next(said: TurnOutcome) -> Next:
    match said["said"]:
        case "ended":
            return RunEnded(RunOutcome(said["detail"]))
        case "asking":
            return Asking()
        case _:
            return Halted(said["detail"])


# -- the queue of the workers, kept by DBOS ------------------------------------------------------


TICKET_WORKFLOW = "planbound.ticket.v1"

_ORDER = (Priority.URGENT, Priority.HIGH, Priority.NORMAL, Priority.LOW)


class DbosTickets:
    """The tickets of one project; DBOS is launched."""

    def __init__(
        self, database: DbosDatabase, project: str, tell: Callable[[str], None] | None = None
    ) -> None:
        self._database = database
        self._tell = tell
        """Told once of each row that is no ticket."""
        self._told: set[str] = set()
        self._queue = f"planbound/{project}"
        self._prefix = f"ticket/{project}/"

    def add(self, ticket: Ticket) -> bool:
        """Put a plan on the queue; False where it is there already, with this approval."""
        for key, known in self._rows():
            if key == self._prefix + ticket.plan:
                if known is not None and known.nonce == ticket.nonce:
                    return False
                # One of an older approval, or that nobody can read, is of no use to anybody.
                self._delete(key)
        options = EnqueueOptions(
            workflow_name=TICKET_WORKFLOW,
            queue_name=self._queue,
            workflow_id=self._prefix + ticket.plan,
            workflow_id_reuse_policy="reject",
            priority=_ORDER.index(ticket.priority) + 1,
        )
        with self._database.problems():
            try:
                DBOS.enqueue_workflow_with_options(options, _encoded(ticket))
            except error.DBOSWorkflowIDInUseError:
                return False  # somebody else was faster
        return True

    def all(self) -> Sequence[Ticket]:
        """Return all tickets: by priority, then the oldest first."""
        found = []
        for key, ticket in self._rows():
            if ticket is not None:
                found.append(ticket)
            elif key not in self._told:
                self._told.add(key)
                if self._tell is not None:
                    self._tell(f"the queue holds {key!r}, which is no ticket: it is left alone")
        return found

    def remove(self, ticket: Ticket) -> None:
        """Take a ticket off the queue, where it is still there."""
        if ticket in self.all():
            self._delete(self._prefix + ticket.plan)

    def _rows(self) -> Sequence[tuple[str, Ticket | None]]:
        """Return the name of each row, and its ticket; None for what is none of ours."""
        with self._database.problems():
            found = DBOS.list_workflows(
                queue_name=self._queue, name=TICKET_WORKFLOW, status="ENQUEUED", load_output=False
            )
        found.sort(key=lambda each: (each.priority or 0, each.created_at or 0, each.workflow_id))
        return [(each.workflow_id, self._ticket(each.workflow_id, each.input)) for each in found]

    def _ticket(self, key: str, given: Any) -> Ticket | None:
        # Whoever may write to the queue can write anything: DBOS gives text where it cannot read.
        try:
            ticket = _decoded(given["args"][0])
        except (TypeError, ValueError, LookupError, AttributeError):
            return None
        return ticket if key == self._prefix + ticket.plan else None

    def _delete(self, key: str) -> None:
        with self._database.problems():
            DBOS.delete_workflows([key])


def _encoded(ticket: Ticket) -> dict[str, Any]:
    return ticket._asdict() | {"priority": ticket.priority.value}


def _decoded(value: dict[str, Any]) -> Ticket:
    touches = value["touches"]
    return Ticket(
        plan=str(value["plan"]),
        workspace=str(value["workspace"]),
        worktree=str(value["worktree"]),
        touches=None if touches is None else tuple(map(str, touches)),
        roles=tuple(map(str, value["roles"])),
        priority=Priority(value["priority"]),
        nonce=str(value["nonce"]),
        after=int(value["after"]),
        anyway=bool(value.get("anyway", False)),
    )
