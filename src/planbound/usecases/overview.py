"""Every plan of a workspace in one line each."""

from __future__ import annotations

from typing import NamedTuple

from planbound.errors import PlanboundError
from planbound.plan.model import StepStatus
from planbound.plan.parse import parse
from planbound.ports.files import Files, PlanFile, Workspace


class PlanLine(NamedTuple):
    """What there is to say about a plan at a glance."""

    file: PlanFile
    objective: str | None = None
    status: str | None = None
    steps: int = 0
    done: int = 0
    templates: int = 0
    problem: str | None = None
    """Why the file could not be read."""


def overview(workspace: Workspace, files: Files) -> list[PlanLine]:
    """Return a line for each plan; one that cannot be read says why."""
    return [_line(file, files) for file in workspace.plans()]


def _line(file: PlanFile, files: Files) -> PlanLine:
    try:
        plan = parse(files.read(file.path), path=file.shown)
    except PlanboundError as error:
        return PlanLine(file=file, problem=error.message)
    marks = [step.status.value for step in plan.steps if step.status]
    return PlanLine(
        file=file,
        objective=plan.objective.value if plan.objective else None,
        status=plan.status.value,
        steps=len(plan.steps),
        done=marks.count(StepStatus.DONE),
        templates=sum(step.is_template for step in plan.steps),
    )
