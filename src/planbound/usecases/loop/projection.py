"""What people read of a plan in the loop: the marks in its file. They follow the journal."""

from __future__ import annotations

from contextlib import suppress

from planbound.engine.loop.state import Item, Standing
from planbound.errors import ConcurrentModification, FileProblem
from planbound.plan.edit import mark_progress
from planbound.plan.model import StepStatus
from planbound.plan.parse import parse
from planbound.usecases.loop.work import Work

_STEPS = {
    Standing.PENDING: StepStatus.PENDING,
    Standing.IN_PROGRESS: StepStatus.IN_PROGRESS,
    Standing.PROVED: StepStatus.DONE,
    Standing.HOLDS: StepStatus.HOLDS,
    Standing.ATTESTED: StepStatus.ATTESTED,
    Standing.CLAIMED: StepStatus.CLAIMED,
    Standing.BLOCKED: StepStatus.BLOCKED,
    Standing.WAIVED: StepStatus.WAIVED,
}


def show_marks(work: Work) -> None:
    """Write where the steps are into the plan's file; a file in other hands is left as it is."""
    with suppress(ConcurrentModification, FileProblem):
        data = work.desk.files.read(work.file.path)
        plan = parse(data, path=work.file.shown)
        ids = work.desk.recorder.step_ids(plan)
        steps = [
            _STEPS[work.state.steps.get(ids[step.label], Item()).standing] for step in plan.steps
        ]
        written = mark_progress(plan, work.status, steps).to_bytes()
        if written != data:
            work.desk.files.replace(work.file.path, written, expected=data)
