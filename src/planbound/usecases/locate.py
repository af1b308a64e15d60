"""Which plan is meant: the one that is named, else the one that the workspace is bound to."""

from __future__ import annotations

from planbound.errors import BindingError, UsageError
from planbound.plan.suggest import nearest
from planbound.ports.files import PlanFile, Workspace


def locate(reference: str | None, workspace: Workspace) -> PlanFile:
    """Return the plan's file; raise where it cannot be told, never fall back to another plan."""
    if reference is not None:
        return _named(reference, workspace)
    from planbound.usecases.resolve import resolve_active_plan  # noqa: PLC0415 - start-up time

    binding = resolve_active_plan(None, workspace)
    if binding is None:
        raise BindingError(
            "there is no plan here", hint="make one with `planbound new NAME`, or name a file"
        )
    return binding.plan


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
