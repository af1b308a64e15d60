"""Which plan is meant: the one that is named, else the one that the workspace is bound to."""

from __future__ import annotations

from planbound.errors import BindingError, UsageError
from planbound.plan.slug import UNNAMED, SlugError, parse_slug
from planbound.plan.suggest import nearest
from planbound.ports.files import PlanFile, Workspace


def locate(reference: str | None, workspace: Workspace) -> PlanFile:
    """Return the plan's file; raise where it cannot be told, never fall back to another plan."""
    if reference is not None:
        return _named(reference, workspace)
    marker = workspace.marker()
    if marker is not None:
        return _marked(marker, workspace)
    unnamed = workspace.find(workspace.planned_path(UNNAMED).path)
    if unnamed is not None:
        return unnamed
    plans = workspace.plans()
    if not plans:
        raise BindingError(
            "there is no plan here", hint="make one with `planbound new NAME`, or name a file"
        )
    names = ", ".join(f"`{plan.slug}`" for plan in plans[:8])
    count = f"are {len(plans)}" if len(plans) > 1 else "is no `.harness/PLAN.md`"
    raise BindingError(f"no plan is named, and there {count}", hint=f"name one of {names}")


def _named(reference: str, workspace: Workspace) -> PlanFile:
    found = workspace.find(reference)
    if found is not None:
        return found
    plans = [plan.slug for plan in workspace.plans()]
    near = nearest(reference, plans)
    if near:
        hint = f"did you mean `{near}`?"
    elif plans:
        hint = f"plans here: {', '.join(plans[:8])}"
    else:
        hint = "make one with `planbound new NAME`"
    raise UsageError(f"there is no plan `{reference}`", hint=hint)


def _marked(marker: str, workspace: Workspace) -> PlanFile:
    name = marker.strip()
    try:
        slug = parse_slug(name)
    except SlugError as error:
        raise BindingError(f"the marker `.harness/active-plan` is not usable: {error}") from error
    found = workspace.find(workspace.planned_path(slug).path)
    if found is None:
        raise BindingError(
            f"the marker `.harness/active-plan` names `{slug}`, and there is no such plan",
            hint="correct the marker, or remove it",
        )
    return found
