"""Which plan is meant: the one that is named, else the one that the workspace is bound to."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING

from msgspec import Struct

from planbound.disk.files import PlanFile, Shelf
from planbound.errors import BindingError, NoSuchPlan, PlanboundError
from planbound.plan.slug import (
    UNNAMED,
    SlugError,
    conflict_of,
    file_name,
    is_left_by_editor,
    look_alikes,
    parse_slug,
    progress_name,
)
from planbound.plan.vocabulary import nearest
from planbound.source import visible

if TYPE_CHECKING:
    from planbound.workspace.tree import Workspace

# -- which plan is meant: the one that is named, else the one that the workspace is bound to -----


def locate(reference: str | None, workspace: Workspace) -> PlanFile:
    """Return the plan's file; raise where it cannot be told, never fall back to another plan."""
    if reference is not None:
        return _named(reference, workspace)

    binding = resolve_active_plan(None, workspace)
    if binding is None:
        raise _no_plan(workspace)
    return binding.plan


def _no_plan(workspace: Workspace) -> BindingError:
    return BindingError("there is no plan here", hint=f"{first_plan(workspace)}, or name a file")


def first_plan(workspace: Workspace) -> str:
    """Return how somebody comes to a plan, where there is none."""
    make = "make one with `planbound new NAME`"
    if os.path.isdir(os.path.join(workspace.root, ".harness")):
        return make
    return f"begin with `planbound init`, which finds out how this is tested, or {make}"


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
    raise NoSuchPlan(f"there is no plan `{reference}`", hint=hint)


# -- bind: which plan is a session's own ---------------------------------------------------------


MARKER = ".harness/active-plan"


class BoundBy(enum.Enum):
    """What decided."""

    ARGUMENT = "argument"
    MARKER = "marker"
    UNNAMED = "unnamed"


class ActivePlan(Struct, frozen=True):
    """A session's own plan."""

    plan: PlanFile
    progress: PlanFile
    """The plan's progress file, there or not."""
    by: BoundBy


def resolve_active_plan(name: str | None, workspace: Workspace) -> ActivePlan | None:
    """Return the binding; None where there is no harness folder; raise where it cannot be told."""
    if name is not None:
        slug = _slug(name, "the plan that is named is not usable")
        return _bound(slug, workspace, BoundBy.ARGUMENT) if workspace.has_harness() else None
    marker = workspace.marker()
    if marker is not None:
        return _bound(_marked_slug(marker), workspace, BoundBy.MARKER)
    if not workspace.has_harness():
        return None
    if file_name(UNNAMED) not in workspace.names(Shelf.ACTIVE):
        raise _nothing_named(workspace)
    return _bound(UNNAMED, workspace, BoundBy.UNNAMED)


def refuse_ambiguous(file: str, names: list[str], *, subject: str) -> None:
    """Raise BindingError where another file may as well be the one that is meant.

    That is a file whose name differs only in case or in the encoding of accents, and a copy that
    a synchroniser left. An editor's own copies cast no doubt.
    """
    original = conflict_of(file, names)
    if original is not None:
        raise BindingError(
            f"{subject}, and `{file}` is a conflict copy of `{visible(original)}`",
            hint="bring the two together, or give the copy a name of its own",
        )
    others = look_alikes(file, names) + [
        name
        for name in sorted(names)
        if conflict_of(name, names) == file and not is_left_by_editor(name)
    ]
    if others:
        listed = ", ".join(f"`{visible(other)}`" for other in others[:4])
        raise BindingError(
            f"{subject}, and that is ambiguous: beside `{file}` there is {listed}",
            hint="keep one of them",
        )


def _bound(slug: str, workspace: Workspace, by: BoundBy) -> ActivePlan:
    subject = {
        BoundBy.ARGUMENT: f"the plan `{slug}` is named",
        BoundBy.MARKER: f"the marker `{MARKER}` names `{slug}`",
        BoundBy.UNNAMED: "no plan is named, which means `PLAN.md`",
    }[by]
    file = workspace.planned_path(slug)
    names = list(workspace.names(Shelf.ACTIVE))
    if file_name(slug) not in names:
        near = nearest(slug, [plan.slug for plan in workspace.plans()])
        cure = "correct the marker, or remove it" if by is BoundBy.MARKER else None
        raise BindingError(
            f"{subject}, and there is no such plan",
            hint=f"did you mean `{near}`?" if near else cure,
        )
    refuse_ambiguous(file_name(slug), names, subject=subject)
    # The unnamed plan is meant whatever it holds; a name that leads to nothing is a mistake.
    if by is not BoundBy.UNNAMED:
        _refuse_empty(file, workspace, subject)
    return ActivePlan(file, workspace.place(Shelf.ACTIVE, progress_name(slug)), by)


def _refuse_empty(file: PlanFile, workspace: Workspace, subject: str) -> None:
    try:
        holds_something = workspace.has_content(file)
    except PlanboundError as error:
        raise BindingError(f"{subject}: {error.message}", hint=error.hint) from error
    if not holds_something:
        raise BindingError(f"{subject}, and `{file.shown}` is empty")


def _marked_slug(marker: str) -> str:
    lines = [line for line in marker.split("\n") if line.strip()]
    if not lines:
        raise BindingError(
            f"the marker `{MARKER}` is blank", hint="write a plan's name in it, or remove it"
        )
    if len(lines) > 1:
        raise BindingError(
            f"the marker `{MARKER}` has {len(lines)} lines, expected one plan's name",
            hint="one worktree works on one plan",
        )
    return _slug(lines[0], f"the marker `{MARKER}` is not usable")


def _slug(name: str, problem: str) -> str:
    try:
        return parse_slug(name)
    except SlugError as error:
        raise BindingError(
            f"{problem}: {error}", hint="a name is one path component, such as `rounding`"
        ) from error


def _nothing_named(workspace: Workspace) -> BindingError:
    plans = workspace.plans()
    if not plans:
        return _no_plan(workspace)
    names = ", ".join(f"`{plan.slug}`" for plan in plans[:8])
    count = f"are {len(plans)}" if len(plans) > 1 else "is no `.harness/PLAN.md`"
    return BindingError(f"no plan is named, and there {count}", hint=f"name one of {names}")
