"""The loop: asks `decide` what is next, does it, records what came of it; and what drives it."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, assert_never

from planbound.disk.lock import kernel_lock, this_process
from planbound.errors import Refused
from planbound.journal.event import ExecutionPaused, RunOutcome
from planbound.plan.model import StepStatus
from planbound.run.attempt import Attempted, WorkOrder, perform
from planbound.run.decide import (
    Action,
    AskBudget,
    AskPerson,
    Await,
    Begin,
    CheckEnd,
    CheckPreconditions,
    Finish,
    JudgeLeft,
    Pace,
    Sleep,
    decide,
    failing_preconditions,
    why_alone,
)
from planbound.run.ending import Projection, RunEnding
from planbound.run.order import Left, Orders
from planbound.run.record import AttemptRecorder
from planbound.run.session import RunSession
from planbound.state.run import Slot
from planbound.workspace.context import Context
from planbound.workspace.measured import is_screened

if TYPE_CHECKING:
    from planbound.run.dbos import DbosDatabase, DbosHost


# -- what drives a run: this process itself, turn after turn, or DBOS ----------------------------


_PAUSE = 0.1
_LOOK_SECONDS = 1.0
_LAUNCH_SECONDS = 60.0


class Again(NamedTuple):
    """There is more to do at once."""


class Later(NamedTuple):
    """There is nothing to do before this time, in UTC as the journal writes it."""

    until: str


class Asking(NamedTuple):
    """There is nothing to do before a person has answered."""


class RunEnded(NamedTuple):
    """The run is over."""

    status: RunOutcome


class Halted(NamedTuple):
    """The run was told to stop before its end; it can go on from where it is."""

    reason: str


Next = Again | Later | Asking | RunEnded | Halted
Turn = Callable[[], Next]


def drive_inline(session: RunSession, turn: Turn, ask: Callable[[], bool]) -> Next:
    """Take turns as long as there is something to do; return what the last one said.

    All state is in the journal: a turn that is taken twice does nothing twice. `ask` asks a
    person, or waits for one, and says whether there is an answer.
    """
    while True:
        said = turn()
        match said:
            case RunEnded() | Halted():
                return said
            case Later():
                _wait_until(session, said.until)
            case Asking():
                if not ask():
                    return said
            case _:
                pass


class DbosMotor:
    """Drives runs as workflows of the one DBOS of this process, which starts with the first."""

    def __init__(self, context: Context, *, executor: str | None = None) -> None:
        # Now, so that it is refused before anything begins where it is not installed.
        from planbound.run import dbos as dbos_motor  # noqa: PLC0415 - half a second

        self.context = context
        self._module = dbos_motor
        self._executor = executor
        self._host: DbosHost | None = None

    def host(self, executor: str | None = None) -> DbosHost:
        """Return DBOS, launched under the name that was given first."""
        if self._host is None:
            own = f"{self.context.queue_name}/{this_process().mark}"
            name = self._executor or executor or own
            host = self._module.DbosHost(make_dbos_database(self.context), name)
            host.launch()
            self._host = host
        return self._host

    def drive(
        self, session: RunSession, turn: Turn, ask: Callable[[], bool], *, stay: bool
    ) -> Next:
        """Return what the last turn said; `stay`: wait for answers that come by other ways."""
        plan = self._name(session.context.slug)
        # Whoever holds the lease is the only process of that name.
        host = self.host(f"{plan}/{session.notes.run}")
        driver = f"{session.notes.run}/{session.held_lease.number}"
        workflow = self._module.RunWorkflow(host, session, plan=plan, driver=driver)
        return workflow.drive(turn, ask, stay=stay)

    def forget(self, slug: str) -> None:
        """Remove what drivers of a plan left with DBOS; nobody drives it."""
        self.host().forget(f"{self._name(slug)}/")

    def _name(self, slug: str) -> str:
        return f"run/{self.context.queue_name}/{slug}"


def make_dbos_database(context: Context) -> DbosDatabase:
    """Return where DBOS keeps its own things."""
    from planbound.run.dbos import DbosDatabase  # noqa: PLC0415 - half a second

    folder = context.state.folder

    def busy() -> Refused:
        return Refused("the database of the motor `dbos` is being made by others for too long")

    def lock() -> AbstractContextManager[object]:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, "dbos.lock")
        return kernel_lock(path, mode=0o600, seconds=_LAUNCH_SECONDS, busy=busy)

    return DbosDatabase(
        path=os.path.join(folder, "dbos.sqlite"),
        url=os.environ.get("PLANBOUND_DATABASE_URL") or None,
        lock=lock,
    )


def _wait_until(session: RunSession, until: str) -> None:
    """Wait, in small pieces: somebody may want it to stop, or decide something meanwhile."""
    known = session.state.plan_seq
    while session.now() < until and not is_stopped(session) and session.state.plan_seq == known:
        time.sleep(_PAUSE)


def is_stopped(session: RunSession) -> bool:
    """Say whether a run has to stop, or was cancelled."""
    session.refresh()
    return session.control.reason is not None or session.state.cancelled


def wait_for_answer(session: RunSession) -> Callable[[], bool]:
    """Begin to wait for a person: the lease is kept, the clock of the budget stands.

    What is returned says whether somebody answered since.
    """
    if session.state.paused is None:
        session.note_pause(ExecutionPaused.WAITING)
    before, journal = session.state.seq, session.context.journal
    head = journal.head().seq

    def news() -> bool:
        nonlocal head
        if journal.wait(head, _LOOK_SECONDS):
            head = journal.head().seq
            session.refresh(at_once=True)
        return session.control.reason is not None or session.state.seq != before

    return news


# -- the loop: asks `decide` what is next, does it, and records what came of it ------------------


CANCELLED = "cancelled"
"""Why everything stops that is at work, when a person ended the run."""


class AttemptResult(NamedTuple):
    """An attempt that came to its end in a thread of its own."""

    order: WorkOrder
    attempted: Attempted | None
    error: BaseException | None


class RunLoop:
    """One run in this process; everything that it knows is in the journal."""

    def __init__(self, session: RunSession, *, jobs: int, say: Callable[[str], None]) -> None:
        self.session = session
        self.jobs = jobs
        self.say = say
        self.projection = Projection(session)
        self.orders = Orders(session)
        self.recorder = AttemptRecorder(session)
        self._expected = self.orders.staff.expected()
        self.orders.look_at_contracts()
        self.ending = RunEnding(session)
        self._working: dict[int, WorkOrder] = {}
        self._alone: set[int] = set()
        """Those of them that nothing may run beside."""
        self._results: queue.SimpleQueue[AttemptResult] = queue.SimpleQueue()
        self._final_tree: str | None = None
        self._left: Left | None = None
        """What the last turn left in the workspace, in which it stayed: nothing was alive since."""
        self._said: set[str] = set()

    def turn(self) -> Next:
        """Do one thing."""
        session = self.session
        session.refresh()
        halted = self._halted()
        if halted is not None:
            return halted
        pace = Pace(
            now=session.now(),
            jobs=self.jobs,
            working=frozenset(self._working),
            alone=bool(self._alone),
            final_tree=self._final_tree,
            expected=self._expected,
        )
        return self._act(decide(session.state, pace))

    def _act(self, action: Action) -> Next:
        if not isinstance(action, Begin):
            self._go_out()
        match action:
            case CheckPreconditions():
                return self._preconditions()
            case JudgeLeft():
                self._judge_left(action.slot)
            case Begin():
                self._begin(action.slot, alone=action.alone)
            case AskBudget():
                self.recorder.answers.ask_budget(action.slot, action.found)
            case Await():
                self._tell_why_alone()
                self._collect()
            case Sleep():
                self.projection.show()
                return Later(action.until)
            case AskPerson():
                self.projection.show()
                return Asking()
            case CheckEnd():
                with self.session.occupancy.inside():
                    self._final_tree = self.ending.check()
            case Finish():
                return self._finish(action)
            case _:
                assert_never(action)
        return Again()

    def pause(self, reason: str) -> None:
        """Note that the run stops here and can go on."""
        self._go_out()
        self.session.note_pause(reason)
        self.projection.show()

    def abandon(self) -> None:
        """Wait for what is still at work, and record nothing of it: that cannot be done."""
        self._go_out()
        while self._working:
            self._working.pop(self._results.get().order.slot.place, None)

    def close(self) -> None:
        """Wait for what is still at work; it was told to stop."""
        self._go_out()
        while self._working:
            self._take(self._results.get())

    def _go_out(self) -> None:
        """Let others into the workspace, where the last turn stayed in it."""
        if self._left is not None:
            self._left = None
            self.session.occupancy.leave()

    # -- stopping ------------------------------------------------------------------------------

    def _halted(self) -> Next | None:
        control = self.session.control
        reason = control.reason
        if reason is None:
            reason = self.session.overruled() or self.session.changed_plan()
            reason = reason or self.session.misplaced()
            if reason is None:
                return None
            control.stop(reason)
        self.close()
        if reason == CANCELLED:
            self.session.refresh(at_once=True)
            reason = self.session.overruled() or CANCELLED
        if reason == CANCELLED:
            return self._finish(Finish(RunOutcome.CANCELLED, "cancelled by a person"))
        return Halted(reason)

    # -- actions -------------------------------------------------------------------------------

    def _preconditions(self) -> Next:
        with self.session.occupancy.inside():
            self.ending.check_preconditions()
        failing = failing_preconditions(self.session.state)
        if failing and self.session.control.reason is None:
            number = ", ".join(failing)
            return self._finish(Finish(RunOutcome.FAILED, f"precondition {number} does not hold"))
        return Again()

    def _judge_left(self, slot: Slot) -> None:
        if not self._enter():
            return
        try:
            order = self.orders.left(slot)
            if order is None:
                self.recorder.lost(slot)
            else:
                self._record(order, perform(order))
        finally:
            self.session.occupancy.leave()

    def _begin(self, slot: Slot, *, alone: bool) -> None:
        left, self._left = self._left, None
        is_inside = left is not None
        # Before the tree is looked at: a mark that is written later would be a change.
        if self.projection.show(working=slot) and not self._hides_marks():
            left = None
        if not is_inside and not self._enter():
            return
        stays = False
        try:
            order = self.orders.begin(slot, alone=alone, left=left)
            if order is None:
                return
            if self.jobs == 1 and order.shown_at is None:
                attempted = perform(order._replace(upcoming=self.orders.upcoming(slot)))
                self._record(order, attempted)
                # The next turn begins where this one ends, and nobody else gets in between.
                stays = attempted.is_clean and not self.orders.has_neighbours
                if stays and attempted.manifest is not None:
                    self._left = Left(attempted.manifest, attempted.upcoming)
                return
            stays = order.shown_at is None
        finally:
            if not stays:
                self.session.occupancy.leave()
        if self.jobs == 1:
            self._record(order, perform(order))
            return
        self._working[slot.place] = order
        if alone:
            self._alone.add(slot.place)
        threading.Thread(target=self._perform, args=(order,), daemon=True).start()

    def _hides_marks(self) -> bool:
        """Say whether the plan lies where the tree is not looked at: there a mark is no change."""
        return is_screened(self.session.judging.tree.root, self.session.context.file.path)

    def _enter(self) -> bool:
        """Take the workspace; another plan may be in it, and this run be told to stop meanwhile."""
        control = self.session.control
        return self.session.occupancy.enter(lambda: control.reason is not None)

    def _perform(self, order: WorkOrder) -> None:
        try:
            result = AttemptResult(order, perform(order), None)
        except BaseException as error:  # noqa: BLE001 - raised again where it is taken
            result = AttemptResult(order, None, error)
        self._results.put(result)

    def _collect(self) -> None:
        try:
            result = self._results.get(timeout=0.2)
        except queue.Empty:
            return
        self._take(result)

    def _take(self, result: AttemptResult) -> None:
        self._working.pop(result.order.slot.place, None)
        self._alone.discard(result.order.slot.place)
        try:
            if result.error is not None:
                raise result.error
            assert result.attempted is not None
            self._record(result.order, result.attempted)
        finally:
            if result.order.shown_at is None:
                self.session.occupancy.leave()

    def _record(self, order: WorkOrder, attempted: Attempted) -> None:
        self._final_tree = None
        self.recorder.record(order, attempted)
        if attempted.stopped is None:
            root, ended = order.judging.tree.root, order.agent is not None
            self.session.context.guard.settle(root, ended=ended)
        if self.jobs > 1:
            self.projection.show_soon()

    def _tell_why_alone(self) -> None:
        state = self.session.state
        if len(self._working) >= self.jobs or len(self._said) > 20:
            return
        for index in state.open:
            step = state.steps[index]
            if step.status is not StepStatus.PENDING or index in self._working:
                continue
            why = why_alone(state, state.layout.slots[index], list(self._working))
            if why is not None and why not in self._said:
                self._said.add(why)
                self.say(f"note: one after the other: {why}")
            return

    def _finish(self, action: Finish) -> Next:
        tree = self.session.seen()
        if action.status.is_complete and not self.ending.is_judged(tree):
            self._final_tree = None  # somebody changed something since: that is judged, too
            return Again()
        if not self.session.append_decided(self.ending.drafts(action, tree)):
            return Again()
        self.projection.finish()
        self.orders.sweep()
        return RunEnded(action.status)
