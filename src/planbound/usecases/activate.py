"""Take a staged plan into work."""

from __future__ import annotations

from typing import NamedTuple

from planbound.errors import NothingToDo, UsageError
from planbound.plan.model import Plan
from planbound.plan.parse import MAX_BYTES, parse
from planbound.plan.slug import file_name
from planbound.plan.suggest import nearest
from planbound.ports.files import Files, PlanFile, Shelf, Workspace
from planbound.usecases.resolve import refuse_ambiguous
from planbound.usecases.stage import refuse_taken


class Activated(NamedTuple):
    """A plan that is active now."""

    file: PlanFile
    staged: PlanFile
    """Where it was copied from; that file stays."""
    plan: Plan


def activate_plan(name: str, *, workspace: Workspace, files: Files) -> Activated:
    """Copy a staged plan beside the active ones, never over anything.

    Raises NothingToDo where everything that the plan is to produce is there.
    """
    staged = workspace.planned_path(name, Shelf.STAGED)
    names = list(workspace.names(Shelf.STAGED))
    if file_name(staged.slug) not in names:
        waiting = [plan.slug for plan in workspace.plans(Shelf.STAGED)]
        near = nearest(staged.slug, waiting)
        known = f"staged plans: {', '.join(waiting[:8])}" if waiting else None
        raise UsageError(
            f"there is no staged plan `{staged.slug}`",
            hint=f"did you mean `{near}`?"
            if near
            else known or "stage one with `planbound stage NAME`",
        )
    refuse_ambiguous(file_name(staged.slug), names, subject=f"`{staged.slug}` is to be activated")
    data = files.read(staged.path)
    if not data.strip() or len(data) > MAX_BYTES:
        size = "empty" if len(data) <= MAX_BYTES else "too large"
        raise UsageError(f"`{staged.shown}` is {size}, expected a plan")
    active = workspace.planned_path(staged.slug)
    refuse_taken(staged.slug, Shelf.ACTIVE, workspace)
    plan = parse(data, path=staged.shown)
    artifacts = [item.value for item in plan.frontmatter.expected_artifacts]
    if artifacts and all(workspace.has_artifact(artifact) for artifact in artifacts):
        raise NothingToDo(
            f"{_listed(artifacts)} of `{staged.slug}` is there already",
            hint="remove what is to be made anew, or the staged plan",
        )
    files.create(active.path, data)
    return Activated(active, staged, parse(data, path=active.shown))


def _listed(artifacts: list[str]) -> str:
    more = f" and {len(artifacts) - 3} more" if len(artifacts) > 3 else ""
    return ", ".join(f"`{artifact}`" for artifact in artifacts[:3]) + more
