"""Adopt a task list of another tool as a draft."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.disk.files import Files
from planbound.drafting.importers import Format, read_tasks, recognise
from planbound.drafting.importers.task import SourceFile
from planbound.drafting.plan_text import ImportedPlan, plain, write_draft
from planbound.errors import FileProblem, UsageError
from planbound.plan.parse import MAX_BYTES
from planbound.plan.slug import UNNAMED, SlugError, parse_slug
from planbound.source import BOM
from planbound.workspace.shelves import NewPlan, add_plan

if TYPE_CHECKING:
    from planbound.workspace.context import Context

# -- adopt a task list of another tool as a draft ------------------------------------------------


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

    draft: ImportedPlan
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


def write_adopted(context: Context, adopted: Adopted) -> NewPlan:
    """Write the draft as a plan of the workspace; never over anything."""
    return add_plan(context, adopted.name, adopted.draft.text.encode(), origin="import")


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
        stem = foreign.folder
        if not stem or stem.casefold() in _GENERAL:
            stem = kind.value
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


# -- the files of a task list of another tool ----------------------------------------------------


_IN_FOLDER = ("tasks.md", "tasks.json", os.path.join("tasks", "tasks.json"))
"""Where the tasks of a folder stand, if it has such a file."""
_BESIDE = "proposal.md"
"""What a change of OpenSpec is for stands in this file, beside its tasks."""


def piped_task_list(data: bytes) -> Foreign:
    """Return what came on standard input, which has no name of its own."""
    return Foreign([("<stdin>", data)], "", whole=True)


def find_task_list(path: str, files: Files) -> Foreign:
    """Return what is at a path: a file with tasks, or a folder of them."""
    if not os.path.isdir(path):
        found = [path, *_beside(path)]
        folder = os.path.dirname(os.path.abspath(path))
    else:
        found, folder = _in_folder(path), os.path.abspath(path)
    read: list[tuple[str, bytes]] = []
    size = 0
    for name in found:
        data = files.read(name)
        size += len(data)
        if size > MAX_BYTES:
            raise UsageError(f"`{path}` is larger than a plan may be ({MAX_BYTES:,} bytes)")
        read.append((name, data))
    return Foreign(read, os.path.basename(folder), whole=os.path.isdir(path))


def _beside(path: str) -> list[str]:
    proposal = os.path.join(os.path.dirname(path), _BESIDE)
    is_change = os.path.basename(path) == "tasks.md" and os.path.isfile(proposal)
    return [proposal] if is_change else []


def _in_folder(path: str) -> list[str]:
    for name in _IN_FOLDER:
        whole = os.path.join(path, name)
        if os.path.isfile(whole):
            return [whole, *_beside(whole)]
    pages = _pages(path) or _pages(os.path.join(path, "tasks"))
    if not pages:
        raise UsageError(
            f"`{path}` holds no task list",
            hint="expected `tasks.md`, `tasks.json`, or task files that end in `.md`",
        )
    return pages


def _pages(folder: str) -> list[str]:
    if not os.path.isdir(folder):
        return []
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise FileProblem(f"cannot read `{folder}`: {error.strerror or error}") from error
    return [os.path.join(folder, name) for name in names if name.endswith(".md")]
