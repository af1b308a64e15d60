"""Copies of a workspace in a folder of the state home."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Container, Iterator

from planbound.cells.inside.tree import remove_entry
from planbound.cells.scratch import held, is_abandoned, mark
from planbound.errors import AlreadyExists, FileProblem, Refused

# -- A copy of the workspace: for a cell that has no overlay, or for a step of its own -----------


_LINKED = frozenset({".git", ".venv", "venv", "node_modules"})
_FICLONE = 0x40049409
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""Why a plain copy would not do either."""
_NOTHING: frozenset[str] = frozenset()
_LARGE = 1 << 20


def copy_tree(source: str, target: str, *, whole: bool, hidden: frozenset[str]) -> None:
    """Copy files, folders and links; what is none of these, and what is hidden, is left out.

    Unless it is to be whole, links lead to large folders that nobody works in, or to large files
    in them: for a cell in which nothing can be written through a link.
    """
    os.mkdir(target, 0o700)
    copier = Copier()
    # What is hidden cannot be left out of a folder that is only linked to.
    opened = {parent for path in hidden for parent in _parents(path)}
    pending = [("", False)]
    while pending:
        below, sparing = pending.pop()
        with os.scandir(os.path.join(source, below)) as entries:
            found = list(entries)
        for entry in found:
            name = os.path.join(below, entry.name)
            to = os.path.join(target, name)
            if entry.path in hidden:
                continue
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), to)
            elif entry.is_dir():
                linked = not whole and (sparing or _is_linked(entry))
                if linked and entry.path not in opened:
                    os.symlink(entry.path, to)
                else:
                    os.mkdir(to, stat.S_IMODE(entry.stat().st_mode) | 0o700)
                    pending.append((name, linked))
            elif entry.is_file():
                if sparing and entry.stat().st_size > _LARGE:
                    os.symlink(entry.path, to)
                else:
                    copier.copy(entry.path, to)


def copy_exactly(source: str, target: str, *, hidden: frozenset[str] = _NOTHING) -> None:
    """Copy files, folders and links, with the modes of all and the times of files.

    What is none of these, what cannot be read and what is hidden is left out.
    """
    copier = Copier()
    os.mkdir(target, 0o700)
    folders: list[tuple[str, int]] = [(target, stat.S_IMODE(os.stat(source).st_mode))]
    pending = [(source, target)]
    while pending:
        below, copied = pending.pop()
        with os.scandir(below) as entries:
            found = list(entries)
        for entry in found:
            to = f"{copied}/{entry.name}"
            if entry.path in hidden:
                continue
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), to)
            elif entry.is_dir():
                os.mkdir(to, 0o700)
                folders.append((to, stat.S_IMODE(entry.stat().st_mode)))
                pending.append((entry.path, to))
            elif entry.is_file():
                copier.copy(entry.path, to)
    # At the end: nothing could be put into some of them any more.
    for folder, mode in reversed(folders):
        os.chmod(folder, mode)


def _parents(path: str) -> Iterator[str]:
    while path != (path := os.path.dirname(path)):
        yield path


def has_strangers(source: str) -> bool:
    """Say whether folders belong to another user or group than this process.

    In a namespace an ordinary user is the only one there is: an overlay cannot write to what
    belongs to somebody else, not even with their permission.
    """
    own = (os.getuid(), os.getgid())
    if own[0] == 0:
        return False  # root brings everybody along
    pending = [source]
    while pending:
        folder = pending.pop()
        try:
            state = os.stat(folder)
            if (state.st_uid, state.st_gid) != own:
                return True
            with os.scandir(folder) as entries:
                pending += [each.path for each in entries if each.is_dir(follow_symlinks=False)]
        except OSError:
            continue  # what cannot be read cannot be written to either
    return False


class Copier:
    """Copies files; where the file system can, the copy shares its blocks with the original."""

    def __init__(self) -> None:
        self._clones = True

    def copy(self, source: str, target: str, *, only_shared: bool = False) -> None:
        """Copy one file with its mode and times; `only_shared`: not if that takes room."""
        try:
            reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return  # what cannot be read cannot be judged by either
        try:
            state = os.fstat(reading)
            if not stat.S_ISREG(state.st_mode):
                return
            writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                if not self._clone(reading, writing):
                    if only_shared:
                        os.unlink(target)
                        return
                    _copy_data(reading, writing, state.st_size)
                os.fchmod(writing, stat.S_IMODE(state.st_mode))
                # `make` goes by the times.
                os.utime(writing, ns=(state.st_atime_ns, state.st_mtime_ns))
            finally:
                os.close(writing)
        finally:
            os.close(reading)

    def _clone(self, reading: int, writing: int) -> bool:
        if not self._clones:
            return False
        try:
            fcntl.ioctl(writing, _FICLONE, reading)
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise
            self._clones = False
        return self._clones


def _copy_data(reading: int, writing: int, size: int) -> None:
    """Copy what is in a file, its holes left as holes."""
    place = 0
    while place < size:
        try:
            place = os.lseek(reading, place, os.SEEK_DATA)
        except OSError:
            break  # only a hole is left
        end = os.lseek(reading, place, os.SEEK_HOLE)
        os.lseek(reading, place, os.SEEK_SET)
        os.lseek(writing, place, os.SEEK_SET)
        while place < end and (data := os.read(reading, min(1 << 20, end - place))):
            place += os.write(writing, data)
    os.ftruncate(writing, size)


def _is_linked(entry: os.DirEntry[str]) -> bool:
    if entry.name not in _LINKED:
        return False
    # Somebody's own folder may have that name too.
    is_venv = os.path.isfile(os.path.join(entry.path, "pyvenv.cfg"))
    return is_venv or not entry.name.endswith("venv")


# -- copies of a workspace in a folder of the state home -----------------------------------------


_UNFINISHED = ".unfinished-"
_TREE = "tree"


class WorkspaceCopies:
    """Each copy is a folder directly below `root`."""

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
