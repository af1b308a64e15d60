"""Copies of a workspace in a folder of the state home."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Container, Iterator

from planbound.errors import AlreadyExists, FileProblem, Refused
from planbound.shell.cell.copy import copy_exactly
from planbound.shell.cell.holding import held, is_abandoned, mark
from planbound.shell.cell.inside.tree import remove_entry

_UNFINISHED = ".unfinished-"
_TREE = "tree"


class WorkspaceCopies:
    """See `ports.copies.Copies`: each is a folder directly below `root`."""

    def __init__(self, root: str) -> None:
        self.root = root

    def make(self, source: str, name: str) -> str:
        """Copy a folder with everything that is in it; return where the copy is."""
        path = self._path(name)
        if os.path.lexists(path):
            raise AlreadyExists(f"there is a copy called `{name}`")
        source = os.path.realpath(source)
        try:
            with self._room(name) as room:
                made = os.path.join(room, _TREE)
                copy_exactly(source, made, hidden=frozenset({os.path.realpath(self.root)}))
                # A folder that may not be written cannot be given another parent.
                mode = stat.S_IMODE(os.stat(made).st_mode)
                os.chmod(made, mode | 0o700)
                os.rename(made, path)
                os.chmod(path, mode)
        except OSError as error:
            what = str(error.filename or source)[-200:]
            raise FileProblem(f"`{source}` cannot be copied: {what}: {error.strerror}") from error
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
        whole = [os.path.join(self.root, name) for name in self.names() if not _is_room(name)]
        paths = sorted([*(path for path in whole if path not in keep), *self.abandoned()])
        for path in paths:
            self._remove(path)
        return paths

    def abandoned(self) -> list[str]:
        """Return what was being made or removed by processes that are no more."""
        return [
            os.path.join(self.root, name)
            for name in self.names()
            if _is_room(name)
            and is_abandoned(os.path.join(self.root, name), _owner(name.removeprefix(_UNFINISHED)))
        ]

    def clear(self, path: str) -> None:
        """Remove a copy, or what is left of one."""
        self._remove(path)

    def _path(self, name: str) -> str:
        if not name or "/" in name or name.startswith("."):
            raise Refused(f"`{name}` cannot be the name of a copy")
        return os.path.join(self.root, name)

    def _remove(self, path: str) -> None:
        try:
            if _is_room(os.path.basename(path)):
                remove_entry(path)
            elif os.path.lexists(path):
                # Half a copy must not be taken for one, when this is interrupted.
                with self._room(os.path.basename(path)) as room:
                    _move(path, os.path.join(room, _TREE))
        except OSError as error:
            raise FileProblem(f"`{path}` cannot be removed: {error.strerror}") from error

    @contextlib.contextmanager
    def _room(self, name: str) -> Iterator[str]:
        """Yield an empty folder that is gone afterwards, with all that is in it then."""
        room = os.path.join(self.root, f"{_UNFINISHED}{mark()}-{name}-{os.urandom(4).hex()}")
        os.makedirs(self.root, mode=0o700, exist_ok=True)
        os.mkdir(room, 0o700)
        try:
            with held(room):
                yield room
        finally:
            remove_entry(room)


def _move(path: str, to: str) -> None:
    """Give a folder another place, whatever may be written in it."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.chmod(path, 0o700)
        os.rename(path, to)


def _is_room(name: str) -> bool:
    return name.startswith(_UNFINISHED)


def _owner(name: str) -> str:
    return name.partition("-")[0]
