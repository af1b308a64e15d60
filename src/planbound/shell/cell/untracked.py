"""Keeps git in a cell from showing what only the cell has put into the workspace."""

from __future__ import annotations

import os
import re

_SPECIAL = re.compile(r"([\\*?\[\]! #])")
_LONGEST = 1 << 20


def exclusion(workspace: str, names: tuple[str, ...]) -> tuple[str, bytes] | None:
    """Return git's file of what it does not look at, and what it is to say: these names, too.

    None where there is no repository. Raise LookupError where there is one without that file.
    """
    top = _top(workspace)
    if top is None:
        return None
    path = os.path.join(_common(top), "info", "exclude")
    if os.path.islink(path) or not os.path.isfile(path):
        raise LookupError(path)
    with open(path, "rb") as file:
        lines = [file.read(_LONGEST).rstrip(b"\n")]
    inside = (os.path.relpath(os.path.join(workspace, name), top) for name in names)
    lines += [b"/" + os.fsencode(_SPECIAL.sub(r"\\\1", name)) for name in inside]
    return path, b"\n".join(lines) + b"\n"


def _top(workspace: str) -> str | None:
    folder = workspace
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return None
    return folder


def _common(top: str) -> str:
    """Return where the repository of a worktree keeps what all of them share."""
    pointer = os.path.join(top, ".git")
    if os.path.isdir(pointer):
        return os.path.realpath(pointer)
    text = _text(pointer).removeprefix("gitdir:").strip()
    folder = os.path.realpath(os.path.join(top, text))
    return os.path.realpath(os.path.join(folder, _text(os.path.join(folder, "commondir"))))


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(16 * 1024).strip()
    except OSError:
        return ""
