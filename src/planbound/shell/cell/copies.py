"""Copies of a workspace in a folder of the state home."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Container

from planbound.errors import AlreadyExists, FileProblem, Refused
from planbound.shell.cell.copy import copy_exactly
from planbound.shell.cell.inside.tree import remove_entry

_UNFINISHED = ".unfinished-"


class WorkspaceCopies:
    """See `ports.copies.Copies`: each is a folder directly below `root`."""

    def __init__(self, root: str) -> None:
        self.root = root

    def make(self, source: str, name: str) -> str:
        """Copy a folder with everything that is in it; return where the copy is."""
        path = self._path(name)
        if os.path.lexists(path):
            raise AlreadyExists(f"there is a copy called `{name}`")
        unfinished = os.path.join(self.root, f"{_UNFINISHED}{os.getpid()}-{name}")
        source = os.path.realpath(source)
        try:
            os.makedirs(self.root, mode=0o700, exist_ok=True)
            remove_entry(unfinished)
            copy_exactly(source, unfinished, hidden=frozenset({os.path.realpath(self.root)}))
            os.rename(unfinished, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                remove_entry(unfinished)
            what = str(error.filename or source)[-200:]
            raise FileProblem(f"`{source}` cannot be copied: {what}: {error.strerror}") from error
        except BaseException:
            with contextlib.suppress(OSError):
                remove_entry(unfinished)
            raise
        return path

    def make_empty(self, name: str) -> str:
        """Make an empty folder among the copies; return where it is."""
        path = self._path(name)
        try:
            os.makedirs(path, mode=0o700)
        except OSError as error:
            raise FileProblem(f"`{path}` cannot be made: {error.strerror}") from error
        return path

    def names(self) -> list[str]:
        """Return the names of all copies."""
        try:
            return sorted(os.listdir(self.root))
        except FileNotFoundError:
            return []

    def find(self, name: str) -> str | None:
        """Return where the copy of that name is; None where there is none."""
        path = self._path(name)
        return path if os.path.isdir(path) else None

    def remove(self, path: str) -> None:
        """Remove a copy; one that is not there is fine."""
        if self._path(os.path.basename(path)) != path:
            raise Refused(f"`{path}` is no copy")
        self._remove(path)

    def sweep(self, keep: Container[str]) -> list[str]:
        """Remove every copy whose path is not to be kept, and what a crash left half-made."""
        paths = [
            os.path.join(self.root, name)
            for name in self.names()
            if os.path.join(self.root, name) not in keep and not _is_being_made(name)
        ]
        for path in paths:
            self._remove(path)
        return paths

    def _path(self, name: str) -> str:
        if not name or "/" in name or name.startswith("."):
            raise Refused(f"`{name}` cannot be the name of a copy")
        return os.path.join(self.root, name)

    def _remove(self, path: str) -> None:
        # Half a copy must not be taken for one, when this is interrupted.
        dying = os.path.join(self.root, f"{_UNFINISHED}{os.getpid()}-{os.path.basename(path)}")
        try:
            if dying != path and os.path.lexists(path):
                remove_entry(dying)
                os.rename(path, dying)
            remove_entry(dying)
        except OSError as error:
            raise FileProblem(f"`{path}` cannot be removed: {error.strerror}") from error


def _is_being_made(name: str) -> bool:
    """Say whether another process that is alive works on it."""
    if not name.startswith(_UNFINISHED):
        return False
    number = name.removeprefix(_UNFINISHED).partition("-")[0]
    return number != str(os.getpid()) and os.path.exists(f"/proc/{number}")
