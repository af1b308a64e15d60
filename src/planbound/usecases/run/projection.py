"""What people read: the marks in the plan's file. They follow the journal, never lead it."""

from __future__ import annotations

import time

from planbound.engine.fold import fold, plan_status
from planbound.engine.run.layout import Slot
from planbound.engine.run.step_state import Phase
from planbound.errors import ConcurrentModification, FileProblem
from planbound.plan.edit import mark_progress
from planbound.plan.model import PlanStatus, StepStatus
from planbound.plan.parse import parse
from planbound.ports.journal import Query
from planbound.usecases.run.session import Session

_EVERY = 1.0
"""How many seconds apart a large file is written at least, while the run goes on."""
_STATUS = {
    Phase.PENDING: StepStatus.PENDING,
    Phase.STARTED: StepStatus.IN_PROGRESS,
    Phase.WAITING: StepStatus.BLOCKED,
    Phase.PROVED: StepStatus.DONE,
    Phase.HOLDS: StepStatus.HOLDS,
    Phase.ATTESTED: StepStatus.ATTESTED,
    Phase.WAIVED: StepStatus.WAIVED,
    Phase.SKIPPED: StepStatus.SKIPPED,
    Phase.FAILED: StepStatus.FAILED,
}


class Projection:
    """Writes the marks of one plan."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._written = 0.0
        self._took = 0.0
        self._plan = session.layout.plan
        self._mine = session.data

    def show_soon(self) -> None:
        """Write the marks, unless they were written a moment ago."""
        if time.monotonic() - self._written >= max(_EVERY, 20 * self._took):
            self.show()

    def show(self, working: Slot | None = None) -> None:
        """Write where the steps are; `working` is about to begin."""
        if working is not None and time.monotonic() - self._written < max(_EVERY, 20 * self._took):
            return
        self._write(PlanStatus.IN_PROGRESS, working)

    def finish(self) -> None:
        """Write what the run came to, by the journal."""
        desk = self.session.desk
        state = fold(desk.journal.read(Query(plan=desk.slug))).get(desk.slug)
        self._write(plan_status(state, self.session.digest), None)

    def _write(self, status: PlanStatus, working: Slot | None) -> None:
        start = time.monotonic()
        session = self.session
        steps = [_STATUS[step.phase] for step in session.state.steps]
        if working is not None:
            steps[working.place] = StepStatus.IN_PROGRESS
        file = session.desk.file
        try:
            if session.changed_plan() is not None:
                return  # a person has another text there: that is theirs
            if session.data != self._mine:
                # Somebody wrote in it what does not change its meaning: their text is kept.
                self._plan = parse(session.data, path=file.shown)
            data = mark_progress(self._plan, status, steps).to_bytes()
            if data != session.data:
                session.desk.files.replace(file.path, data, expected=session.data)
                session.data = data
            self._mine = session.data
        except (ConcurrentModification, FileProblem):
            pass  # the journal has it; `doctor` says where file and journal disagree
        self._written = time.monotonic()
        self._took = self._written - start
