"""Adopt a task list of another tool as a draft."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.adopt.formats import Format, read_tasks, recognise
from planbound.engine.adopt.order import plain
from planbound.engine.adopt.plan_text import Draft, write_draft
from planbound.engine.adopt.task import SourceFile
from planbound.errors import UsageError
from planbound.plan.parse import MAX_BYTES
from planbound.plan.slug import UNNAMED, SlugError, parse_slug
from planbound.ports.files import Files, Folders, PlanFile, Shelf, Workspace
from planbound.source.text import BOM
from planbound.usecases.stage import refuse_taken

_GENERAL = frozenset({"tasks", "task", "todo", "plan", "readme"})
"""Names of files that say nothing about their content: the folder's name says more."""


class Foreign(NamedTuple):
    """A task list as it was found: its files, and the folder that they are in."""

    files: Sequence[tuple[str, bytes]]
    """Paths as people write them, with the content; the one with the tasks comes first."""
    folder: str
    """The name of the folder."""
    whole: bool
    """Whether the folder was named, and not a file in it."""


class Adopted(NamedTuple):
    """A draft made from a task list, not written yet."""

    draft: Draft
    name: str
    kind: Format


def adopt(foreign: Foreign, *, kind: Format | None, name: str | None, tag: str | None) -> Adopted:
    """Return the draft of a plan; raise UsageError where the source cannot be read."""
    files = [SourceFile(path, _decoded(path, data)) for path, data in foreign.files]
    chosen = recognise(files) if kind is None else kind
    tasks = read_tasks(files, chosen, tag=tag)
    slug = _slug(name) if name is not None else _name_of(foreign, chosen, tag)
    shown = foreign.files[0][0] if len(files) == 1 or not foreign.whole else f"{foreign.folder}/"
    origin = f"`{plain(shown)}` ({chosen.value})"
    draft = write_draft(tasks, origin=origin, slug=slug)
    if len(draft.text.encode()) > MAX_BYTES:
        raise UsageError(f"the draft would be larger than a plan may be ({MAX_BYTES:,} bytes)")
    return Adopted(draft, slug, chosen)


def write_adopted(
    adopted: Adopted, *, workspace: Workspace, files: Files, folders: Folders
) -> PlanFile:
    """Write the draft as a plan of the workspace; never over anything."""
    planned = workspace.planned_path(adopted.name)
    refuse_taken(planned.slug, Shelf.ACTIVE, workspace)
    folders.make_folder(planned.path.rsplit("/", 1)[0])
    files.create(planned.path, adopted.draft.text.encode())
    return planned


def _decoded(path: str, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise UsageError(f"`{path}` is larger than a plan may be ({MAX_BYTES:,} bytes)")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"`{path}` is not text in UTF-8", hint="save it as UTF-8") from error
    if "\0" in text:
        raise UsageError(f"`{path}` is not text: it holds a NUL character")
    return text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")


def _slug(name: str) -> str:
    try:
        return parse_slug(name)
    except SlugError as error:
        raise UsageError(
            f"not a plan's name: {error}", hint="a name is one path component, such as `rounding`"
        ) from error


def _name_of(foreign: Foreign, kind: Format, tag: str | None) -> str:
    """Return a name for the plan, by what its source is called."""
    stem = foreign.files[0][0].rsplit("/", 1)[-1].rsplit(".", 1)[0]
    if tag is not None:
        stem = tag
    elif foreign.whole or stem.casefold() in _GENERAL:
        stem = foreign.folder if foreign.folder.casefold() not in _GENERAL else kind.value
    elif kind is Format.SUPERPOWERS:
        stem = re.sub(r"^\d{4}-\d{2}-\d{2}-", "", stem)
    visible = "".join(c if unicodedata.category(c)[0] in "LN" or c in "._-" else " " for c in stem)
    name = "-".join(visible.split()).strip(".-")[:60].strip(".-")
    name = re.sub(r"-{2,}", "-", name)
    if name.casefold() == UNNAMED.casefold():
        name = kind.value
    try:
        return parse_slug(name)
    except SlugError as error:
        raise UsageError(
            f"no name for the plan can be made of `{plain(stem)}`: {error}",
            hint="give it one with `--name`",
        ) from error
