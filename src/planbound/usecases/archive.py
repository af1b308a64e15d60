"""Put a plan away when it is over."""

from __future__ import annotations

import re
import shlex
from itertools import count
from typing import NamedTuple

from planbound.engine.fold import PlanState, plan_status
from planbound.errors import Refused, UsageError
from planbound.plan.digest import digest
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse
from planbound.plan.slug import SlugError, file_name, parse_slug, progress_name
from planbound.plan.suggest import nearest
from planbound.ports.files import Files, Folders, PlanFile, Shelf, Workspace
from planbound.usecases.resolve import refuse_ambiguous


class Archived(NamedTuple):
    """A plan that is over."""

    slug: str
    plan: Plan
    status: PlanStatus
    """Where it was in its life."""
    file: PlanFile
    """Where the plan is now."""
    progress: PlanFile | None
    """Where its progress is now; None where it had none."""
    still_marked: bool
    """Whether the worktree's marker still names it."""


def archive_plan(
    name: str,
    date: str,
    *,
    workspace: Workspace,
    files: Files,
    folders: Folders,
    state: PlanState | None = None,
) -> Archived:
    """Move an active plan and its progress to the archive; `date` is written `YYYYMMDD`.

    `state` is what the journal knows of it.
    """
    if not re.fullmatch(r"[0-9]{8}", date):
        raise ValueError(date)
    source = workspace.planned_path(name)
    names = list(workspace.names(Shelf.ACTIVE))
    if file_name(source.slug) not in names:
        known = [plan.slug for plan in workspace.plans()]
        near = nearest(source.slug, known)
        hint = f"plans here: {', '.join(known[:8])}" if known else None
        raise UsageError(
            f"there is no plan `{source.slug}`", hint=f"did you mean `{near}`?" if near else hint
        )
    refuse_ambiguous(file_name(source.slug), names, subject=f"`{source.slug}` is to be archived")
    plan = parse(files.read(source.path), path=source.shown)
    # A run that has begun is under way, whatever somebody made of the text since.
    if (state.standing if state else plan.status) is PlanStatus.IN_PROGRESS:
        raise Refused(
            f"`{source.slug}` is in progress",
            hint=f"let it end, or cancel its run;"
            f" `planbound show {shlex.quote(source.slug)}` tells more",
        )
    notes = progress_name(source.slug)
    pairs = [(source.path, "PLAN")]
    if notes in names:
        # The progress goes first: a move that is cut off leaves the plan to be archived again.
        pairs.insert(0, (workspace.place(Shelf.ACTIVE, notes).path, "progress"))
    folders.make_folder(workspace.place(Shelf.ARCHIVE, "x").path.rsplit("/", 1)[0])
    targets = _targets(f"{date}-{source.slug}", pairs, workspace)
    for (path, _), target in zip(pairs, targets, strict=True):
        workspace.move(path, target.path)
    return Archived(
        slug=source.slug,
        plan=plan,
        status=plan_status(state, digest(plan)) if state else plan.status,
        file=targets[-1]._replace(slug=source.slug),
        progress=targets[0] if len(targets) > 1 else None,
        still_marked=_is_marked(source.slug, workspace),
    )


def _targets(wanted: str, pairs: list[tuple[str, str]], workspace: Workspace) -> list[PlanFile]:
    """Return a free name in the archive for each file, all with the same number."""
    taken = {name.casefold() for name in workspace.names(Shelf.ARCHIVE)}
    for number in count(1):
        suffix = wanted if number == 1 else f"{wanted}-{number}"
        targets = [
            workspace.place(Shelf.ARCHIVE, f"{kind}.archive.{suffix}.md") for _, kind in pairs
        ]
        if all(
            target.path.rsplit("/", 1)[1].casefold() not in taken
            or workspace.is_same(path, target.path)
            for (path, _), target in zip(pairs, targets, strict=True)
        ):
            return targets
    raise AssertionError(wanted)


def _is_marked(slug: str, workspace: Workspace) -> bool:
    try:
        return parse_slug(workspace.marker() or "") == slug
    except (SlugError, Refused):
        return False
