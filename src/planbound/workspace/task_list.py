"""The files of a task list of another tool."""

from __future__ import annotations

import os

from planbound.errors import FileProblem, UsageError
from planbound.plan.parse import MAX_BYTES
from planbound.ports.files import Files
from planbound.usecases.adopt import Foreign

_IN_FOLDER = ("tasks.md", "tasks.json", os.path.join("tasks", "tasks.json"))
"""Where the tasks of a folder stand, if it has such a file."""
_BESIDE = "proposal.md"
"""What a change of OpenSpec is for stands in this file, beside its tasks."""


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
