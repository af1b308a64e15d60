"""What an agent is doing, in a few words, from the tool that it uses."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from planbound.agents.fields import text

_COMMANDS = ("command", "cmd", "script")
_PATHS = ("file_path", "filePath", "absolute_path", "notebook_path", "path", "file", "dir_path")
_SOUGHT = ("pattern", "query", "regex", "url")
_WRITING = ("edit", "write", "replace", "patch", "create", "insert", "append", "delete")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_LONGEST = 4000


def activity(tool: str, arguments: Mapping[str, object], workspace: str = "") -> str:
    """Return what a tool is used for: `runs make`, `edits src/x.py`, `searches for TODO`."""
    if command := _first(arguments, _COMMANDS):
        return f"runs {command}"
    name = tool.lower()
    if path := _first(arguments, _PATHS):
        verb = "edits" if any(word in name for word in _WRITING) else "reads"
        return f"{verb} {shown(path, workspace)}"
    if sought := _first(arguments, _SOUGHT):
        return f"searches for {sought}"
    return f"uses {tool}" if tool else "uses a tool"


def shown(path: str, workspace: str) -> str:
    """Return a path as seen from the workspace."""
    return path.removeprefix(f"{workspace.rstrip('/')}/") if workspace else path


def without_shell(command: str) -> str:
    """Return what a shell is started for: of `/bin/bash -lc 'make all'`, `make all`."""
    if len(command) > _LONGEST:
        return command
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_shell = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS
    return words[2] if is_shell and words[1].startswith("-") else command


def _first(arguments: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((found for name in names if (found := text(arguments.get(name)))), "")
