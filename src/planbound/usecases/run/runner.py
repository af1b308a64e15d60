"""The loop: asks `decide` what is next, does it, and records what came of it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import NamedTuple, assert_never

from planbound.engine.run.decide import (
    DONE,
    Action,
    Ask,
    AskBudget,
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
from planbound.engine.run.layout import Slot
from planbound.engine.run.step_state import Phase
from planbound.ports.motor import Again, Asking, Ended, Halted, Later, Next
from planbound.usecases.run.answering import Answering
from planbound.usecases.run.attempt import Attempted, Order, perform
from planbound.usecases.run.ending import Ending
from planbound.usecases.run.ordering import Ordering
from planbound.usecases.run.projection import Projection
from planbound.usecases.run.session import Session

CANCELLED = "cancelled"
"""Why everything stops that is at work, when a person ended the run."""


class Result(NamedTuple):
    """An attempt that came to its end in a thread of its own."""

    order: Order
    attempted: Attempted | None
    error: BaseException | None


class Runner:
    """One run in this process; everything that it knows is in the journal."""

    def __init__(self, session: Session, *, jobs: int, say: Callable[[str], None]) -> None:
        self.session = session
        self.jobs = jobs
        self.say = say
        self.projection = Projection(session)
        self.ordering = Ordering(session)
        self.answering = Answering(session)
        self._expected = self.ordering.staffing.expected()
        self.ending = Ending(session)
        self._working: dict[int, Order] = {}
        self._alone: set[int] = set()
        """Those of them that nothing may run beside."""
        self._results: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._final_tree: str | None = None
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
        match action:
            case CheckPreconditions():
                return self._preconditions()
            case JudgeLeft():
                self._judge_left(action.slot)
            case Begin():
                self._begin(action.slot, alone=action.alone)
            case AskBudget():
                self.answering.ask_budget(action.slot, action.found)
            case Await():
                self._tell_why_alone()
                self._collect()
            case Sleep():
                self.projection.show()
                return Later(action.until)
            case Ask():
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
        self.session.note_pause(reason)
        self.projection.show()

    def abandon(self) -> None:
        """Wait for what is still at work, and record nothing of it: that cannot be done."""
        while self._working:
            self._working.pop(self._results.get().order.slot.place, None)

    def close(self) -> None:
        """Wait for what is still at work; it was told to stop."""
        while self._working:
            self._take(self._results.get())

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
            return self._finish(Finish("cancelled", "cancelled by a person"))
        return Halted(reason)

    # -- actions -------------------------------------------------------------------------------

    def _preconditions(self) -> Next:
        with self.session.occupancy.inside():
            self.ending.check_preconditions()
        failing = failing_preconditions(self.session.state)
        if failing and self.session.control.reason is None:
            number = ", ".join(failing)
            return self._finish(Finish("failed", f"precondition {number} does not hold"))
        return Again()

    def _judge_left(self, slot: Slot) -> None:
        if not self._enter():
            return
        try:
            order = self.ordering.left(slot)
            if order is None:
                self.answering.lost(slot)
            else:
                self._record(order, perform(order))
        finally:
            self.session.occupancy.leave()

    def _begin(self, slot: Slot, *, alone: bool) -> None:
        # Before the tree is looked at: a mark that is written later would be a change.
        self.projection.show(working=slot)
        if not self._enter():
            return
        stays = False
        try:
            order = self.ordering.begin(slot, alone=alone)
            if order is None:
                return
            if self.jobs == 1 and order.shown_at is None:
                self._record(order, perform(order))
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

    def _enter(self) -> bool:
        """Take the workspace; another plan may be in it, and this run be told to stop meanwhile."""
        control = self.session.control
        return self.session.occupancy.enter(lambda: control.reason is not None)

    def _perform(self, order: Order) -> None:
        try:
            result = Result(order, perform(order), None)
        except BaseException as error:  # noqa: BLE001 - raised again where it is taken
            result = Result(order, None, error)
        self._results.put(result)

    def _collect(self) -> None:
        try:
            result = self._results.get(timeout=0.2)
        except queue.Empty:
            return
        self._take(result)

    def _take(self, result: Result) -> None:
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

    def _record(self, order: Order, attempted: Attempted) -> None:
        self._final_tree = None
        self.answering.record(order, attempted)
        if attempted.stopped is None:
            root, ended = order.bench.tree.root, order.agent is not None
            self.session.desk.guard.settle(root, ended=ended)
        if self.jobs > 1:
            self.projection.show_soon()

    def _tell_why_alone(self) -> None:
        state = self.session.state
        if len(self._working) >= self.jobs or len(self._said) > 20:
            return
        for index in state.open:
            step = state.steps[index]
            if step.phase is not Phase.PENDING or index in self._working:
                continue
            why = why_alone(state, state.layout.slots[index], list(self._working))
            if why is not None and why not in self._said:
                self._said.add(why)
                self.say(f"note: one after the other: {why}")
            return

    def _finish(self, action: Finish) -> Next:
        with self.session.occupancy.inside():
            judged = action.status not in DONE or self.ending.is_judged()
        if not judged:
            self._final_tree = None  # somebody changed something since: that is judged, too
            return Again()
        if not self.session.append_decided(self.ending.drafts(action)):
            return Again()
        self.projection.finish()
        self.ordering.sweep()
        return Ended(action.status)
