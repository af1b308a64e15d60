"""Put a plan on the shelf of plans that wait for their turn."""

from __future__ import annotations

from typing import NamedTuple

from planbound.errors import AlreadyExists, UsageError
from planbound.plan.model import Plan
from planbound.plan.parse import MAX_BYTES, parse
from planbound.plan.skeleton import objective_line, skeleton
from planbound.plan.slug import UNNAMED, file_name, look_alikes
from planbound.ports.files import Files, Folders, PlanFile, Shelf, Workspace


class Staged(NamedTuple):
    """A plan that waits now."""

    file: PlanFile
    plan: Plan


def stage_draft(
    name: str, objective: str | None, *, workspace: Workspace, files: Files, folders: Folders
) -> Staged:
    """Stage a new draft with steps to fill in."""
    slug = workspace.planned_path(name).slug
    data = skeleton(objective_line(objective, slug)).encode()
    return _stage(slug, data, workspace=workspace, files=files, folders=folders)


def stage_copy(
    name: str, source: str, *, workspace: Workspace, files: Files, folders: Folders
) -> Staged:
    """Stage a copy of a file, byte for byte; the file stays where it is."""
    data = files.read(source)
    if not data.strip():
        raise UsageError(f"`{source}` is empty, expected a plan")
    if len(data) > MAX_BYTES:
        raise UsageError(f"`{source}` is larger than a plan may be ({MAX_BYTES:,} bytes)")
    return _stage(name, data, workspace=workspace, files=files, folders=folders)


def refuse_taken(slug: str, shelf: Shelf, workspace: Workspace) -> None:
    """Raise AlreadyExists where the name, or one that looks like it, is taken on a shelf."""
    file, names = file_name(slug), workspace.names(shelf)
    taken = [file] if file in names else look_alikes(file, names)
    if taken:
        raise AlreadyExists(
            f"`{workspace.place(shelf, taken[0]).shown}` is there already",
            hint="nothing is overwritten: choose another name, or archive that one",
        )


def _stage(
    name: str, data: bytes, *, workspace: Workspace, files: Files, folders: Folders
) -> Staged:
    file = workspace.planned_path(name, Shelf.STAGED)
    if file.slug == UNNAMED:
        raise UsageError("a plan that waits needs a name", hint="such as `rounding`")
    # A plan that is active by that name could never be joined by this one.
    for shelf in (Shelf.ACTIVE, Shelf.STAGED):
        refuse_taken(file.slug, shelf, workspace)
    folders.make_folder(file.path.rsplit("/", 1)[0])
    files.create(file.path, data)
    return Staged(file, parse(data, path=file.shown))
