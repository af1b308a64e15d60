"""The motor that is a DBOS workflow: the same turns, with waits that DBOS keeps.

The workflow is as small as can be, and its name never changes. What it calls performs turns, and
these have all their state in the journal. So nothing depends on what DBOS remembers: every driver
of a run, known by its fence, has a workflow of its own. One that a dead process left behind is not
driven by whoever finds it: it ends at once.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple, TypedDict

from planbound.errors import JournalProblem, PlanboundError
from planbound.ports.motor import Again, Asking, Ended, Halted, Later, Next, Turn
from planbound.runtime.dbos_database import DBOS, DbosDatabase, SetWorkflowID

WORKFLOW = "planbound.run.v1"
STEP = "planbound.turns.v1"

_BATCH_SECONDS = 0.2
"""How long turns go on before DBOS notes it: each note costs as much as a small step."""
_LONGEST_WAIT = 86_400.0
_LOOK_EVERY = 0.2
_WAKE, _ANSWER = "wake", "answer"


class Said(TypedDict, total=False):
    """What turns came to, as DBOS keeps it."""

    said: str
    detail: str
    seconds: float
    """How long there is nothing to do."""


_ELSEWHERE = Said(said="halted", detail="another process drives it")


class Waits(NamedTuple):
    """How a motor learns that a wait is over."""

    stopped: Callable[[], bool]
    """Whether the run has to stop, or was cancelled."""
    ask: Callable[[], bool]
    """Asks a person; says whether there is an answer."""
    news: Callable[[], Callable[[], bool]] | None = None
    """Returns what says whether somebody answered since; None: nobody waits here for that."""


class DbosHost:
    """DBOS in this process, of which there is one."""

    def __init__(self, database: DbosDatabase, executor: str) -> None:
        self.database = database
        self.executor = executor
        self._loops: dict[str, Callable[[], Said]] = {}
        self._workflow: Callable[[str], Said] | None = None

    def launch(self) -> None:
        """Start it, and make the tables where there are none."""
        with self.database.problems(), self.database.making():
            DBOS(config=self.database.configuration(self.executor))
            # No process of ours lets DBOS take from a queue: that needs a lease.
            DBOS.listen_queues([])

            def workflow(key: str) -> Said:
                loop = self._loops.get(key)
                return _ELSEWHERE if loop is None else loop()

            self._workflow = DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)(workflow)
            DBOS.launch()

    def run(self, key: str, loop: Callable[[], Said]) -> Said:
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


class DbosMotor:
    """Drives one run as a DBOS workflow."""

    def __init__(self, host: DbosHost, *, plan: str, driver: str, waits: Waits) -> None:
        self.host = host
        self.waits = waits
        self._prefix = f"{plan}/"
        self._key = f"{plan}/{driver}"
        self._last: Next = Again()
        self._error: Exception | None = None

    def drive(self, turn: Turn) -> Next:
        """Return what the last turn said."""
        # Whoever drove this plan before is dead, or can write nothing any more.
        self.host.forget(self._prefix)
        try:
            said = _next(self.host.run(self._key, lambda: self._guarded(turn)))
            self.host.forget(self._key)
        except JournalProblem:
            # Somebody overtook this driver and removed its workflow. What a turn found out counts.
            if self._error is None and not isinstance(self._last, Ended | Halted):
                raise
            said = self._last
        if self._error is not None:
            raise self._error
        return said

    # -- the workflow --------------------------------------------------------------------------

    def _guarded(self, turn: Turn) -> Said:
        """Go through the loop; an error of ours is not DBOS's to keep or to repeat."""
        try:
            return self._loop(turn)
        except PlanboundError as error:
            self._error = error
            return Said(said="broken", detail=type(error).__name__)

    def _loop(self, turn: Turn) -> Said:
        while True:
            said: Said = DBOS.run_step({"name": STEP}, self._turns, turn)
            match said["said"]:
                case "again":
                    pass
                case "later":
                    with self._waking(_WAKE, self.waits.stopped):
                        DBOS.recv(_WAKE, timeout_seconds=said["seconds"])
                case "asking" if self.waits.news is not None:
                    with self._waking(_ANSWER, self.waits.news()):
                        DBOS.recv(_ANSWER, timeout_seconds=_LONGEST_WAIT)
                case "asking" if self.waits.ask():
                    pass
                case _:
                    return said

    def _turns(self, turn: Turn) -> Said:
        """Take turns for a moment."""
        end = time.monotonic() + _BATCH_SECONDS
        try:
            self._last = turn()
            while isinstance(self._last, Again) and time.monotonic() < end:
                self._last = turn()
        except Exception as error:  # noqa: BLE001 - raised again when the workflow is over
            self._error = error
            return Said(said="broken", detail=type(error).__name__)
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


def _said(said: Next) -> Said:
    match said:
        case Again():
            return Said(said="again")
        case Later():
            left = datetime.fromisoformat(said.until) - datetime.now(UTC)
            seconds = min(max(0.0, left.total_seconds()), _LONGEST_WAIT)
            return Said(said="later", detail=said.until, seconds=seconds)
        case Asking():
            return Said(said="asking")
        case Ended():
            return Said(said="ended", detail=said.status)
        case Halted():
            return Said(said="halted", detail=said.reason)


def _next(said: Said) -> Next:
    match said["said"]:
        case "ended":
            return Ended(said["detail"])
        case "asking":
            return Asking()
        case _:
            return Halted(said["detail"])
