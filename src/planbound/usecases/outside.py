"""A file that is no plan of the workspace: what to do with it, and taking it in."""

from __future__ import annotations

import os
import shlex
from typing import NamedTuple, NoReturn

from planbound.errors import AlreadyExists, UsageError
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.plan.slug import UNNAMED, SlugError, file_name, parse_slug
from planbound.ports.files import Files, Folders, PlanFile, Shelf, Workspace
from planbound.usecases.activate import Activated, activate_plan
from planbound.usecases.stage import Staged, stage_copy

_NO_NAMES = frozenset({UNNAMED, UNNAMED.lower(), "README", "readme"})
"""Names that say nothing: the name of the folder says more."""


class TakenIn(NamedTuple):
    """A file from elsewhere as a plan of the workspace."""

    file: PlanFile
    moves: tuple[Staged | Activated, ...]
    """What was written for that; nothing where it had been taken in before."""


def refuse_outside(file: PlanFile, harness: str) -> NoReturn:
    """Raise UsageError: the file is not where the plans are, and this is what to do."""
    if file.path == "-":
        raise UsageError(
            "only a plan in `.harness/` is approved, run and followed, not standard input",
            hint="write it to a file, then `planbound stage NAME --from FILE`",
        )
    folder = os.path.dirname(os.path.abspath(file.path))
    shown, name = shlex.quote(file.shown), shlex.quote(name_for(file))
    staging = f"`planbound stage {name} --from {shown}`"
    if os.path.realpath(folder) == os.path.realpath(os.path.join(harness, Shelf.STAGED.value)):
        raise UsageError(
            f"`{file.shown}` waits in the queue: it is not worked on yet",
            hint=f"take it into work: `planbound activate {shlex.quote(file.slug)}`",
        )
    if os.path.realpath(folder) == os.path.realpath(os.path.join(harness, Shelf.ARCHIVE.value)):
        raise UsageError(
            f"`{file.shown}` is archived: it is not worked on any more",
            hint="to begin with it anew: `planbound stage NAME --from " + f"{shown}`",
        )
    is_link = os.path.realpath(folder) == os.path.realpath(harness)
    where = "leads outside" if is_link else "is outside"
    raise UsageError(
        f"`{file.shown}` {where} of `.harness/`, where the plans are that are approved and run",
        hint=f"take it in: {staging}, then `planbound activate {name}`"
        f" (`planbound run {shown} --stage` does both);"
        f" a task list of another tool: `planbound import {shown}`",
    )


def name_for(file: PlanFile) -> str:
    """Return the name that a file gets as a plan: its own, or its folder's where that says more."""
    folder = os.path.basename(os.path.dirname(os.path.abspath(file.path)))
    for name in (file.slug, folder):
        if name in _NO_NAMES:
            continue
        try:
            return parse_slug(name)
        except SlugError:
            continue
    return "NAME"


def take_in(file: PlanFile, *, workspace: Workspace, files: Files, folders: Folders) -> TakenIn:
    """Stage and activate a file from elsewhere; one that was taken in before is found again."""
    name = name_for(file)
    if name == "NAME":
        raise UsageError(
            f"`{file.shown}` has no name that a plan could have",
            hint=f"give it one: `planbound stage NAME --from {shlex.quote(file.shown)}`",
        )
    planned = workspace.planned_path(name)
    if file_name(name) in workspace.names(Shelf.ACTIVE):
        theirs, ours = (
            digest(parse(files.read(each.path), path=each.shown)) for each in (file, planned)
        )
        if theirs != ours:
            raise AlreadyExists(
                f"`{planned.shown}` is there already, and is another plan than `{file.shown}`",
                hint=f"run that one: `planbound run {shlex.quote(planned.shown)}`; or give this"
                f" another name: `planbound stage NAME --from {shlex.quote(file.shown)}`",
            )
        return TakenIn(planned, ())
    moves: list[Staged | Activated] = []
    waiting = workspace.planned_path(name, Shelf.STAGED)
    is_staged = file_name(name) in workspace.names(Shelf.STAGED)
    if not is_staged or files.read(waiting.path) != files.read(file.path):
        moves.append(stage_copy(name, file.path, workspace=workspace, files=files, folders=folders))
    activated = activate_plan(name, workspace=workspace, files=files)
    return TakenIn(activated.file, (*moves, activated))
