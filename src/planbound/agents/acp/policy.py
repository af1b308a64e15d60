"""What an agent may have that asks: the answer to its requests for permission.

The cell confines it anyway. A refusal tells it early, and shows whoever looks on what it wanted.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from planbound.agents.acp.job import Permissions

_PATH_KEYS = frozenset(
    "path paths file files filepath filename absolutepath relativepath targetfile sourcepath"
    " destinationpath oldpath newpath dir directory dirpath cwd workdir workingdirectory"
    " notebookpath movepath".split()
)
_COMMAND_KEYS = frozenset("command commands cmd commandline script".split())
_DEEPEST = 4


class Policy(NamedTuple):
    """What is allowed in a workspace."""

    permissions: Permissions
    workspace: str
    """By its real path."""
    protected: tuple[str, ...]
    commands: tuple[str, ...] | None = None
    """The programs that may be called; None: any."""

    def objection(self, paths: Iterable[str]) -> str | None:
        """Return why what names these paths is refused; None where it is allowed."""
        if self.permissions is Permissions.ALLOW:
            return None
        if self.permissions is Permissions.REJECT:
            return "everything is refused"
        return next(filter(None, map(self.obstacle, paths)), None)

    def forbidden(self, given: object, *, executes: bool) -> str | None:
        """Return why the input of a tool is refused that runs a command; None where it is not.

        What a role may call holds whatever `permissions` says.
        """
        if self.commands is None:
            return None
        from planbound.engine.command_limit import command_objection  # noqa: PLC0415 - seldom

        lines = list(commands_in(given))
        if executes and not lines:
            return "it does not say which command it runs"
        return next(filter(None, (command_objection(line, self.commands) for line in lines)), None)

    def obstacle(self, path: str) -> str | None:
        """Return why a path is out of bounds; None where it is not."""
        # What a link leads to counts, and not where it lies.
        real = os.path.realpath(os.path.join(self.workspace, os.path.expanduser(path)))
        if real != self.workspace and not real.startswith(self.workspace.rstrip("/") + "/"):
            return f"`{path}` is outside the workspace"
        inside = os.path.relpath(real, self.workspace)
        for name in self.protected:
            if inside == name or inside.startswith(f"{name}/"):
                return f"`{name}` is protected"
        return None


def paths_in(value: object, depth: int = 0) -> Iterator[str]:
    """Yield what the input of a tool names as a path, by the names of its fields."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if _plain(str(key)) in _PATH_KEYS:
                yield from _texts(inner)
            if not isinstance(inner, str):
                yield from paths_in(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from paths_in(inner, depth + 1)


def commands_in(value: object) -> Iterator[str]:
    """Yield the command lines that the input of a tool names, by the names of its fields."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if _plain(str(key)) in _COMMAND_KEYS:
            if isinstance(inner, str) and inner.strip():
                yield inner
            elif isinstance(inner, list) and inner:
                yield shlex.join(map(str, inner))


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _texts(value: object) -> Iterator[str]:
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and text:
            yield text.removeprefix("file://")


def chosen(kinds: Sequence[str], *, allow: bool) -> int | None:
    """Return which option is taken, by the kinds of all; None where none of them fits."""
    wanted = ("allow_once", "allow_always") if allow else ("reject_once", "reject_always")
    return next((kinds.index(kind) for kind in wanted if kind in kinds), None)
