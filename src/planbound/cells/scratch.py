"""Folders for the time of one cell, and what a harness that was killed left in them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator

from planbound.cells.inside.tree import remove_entry
from planbound.errors import CellProblem

# -- whose a folder of the state home is, and whether its owner is still there -------------------


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_YOUNG = 60.0
"""So many seconds a folder may have without a lock: its owner is about to take it."""


def mark() -> str:
    """Return what the name of a folder says of this process: no `-` is in it."""
    return f"{os.getpid()}.{_realm()}"


@contextlib.contextmanager
def held(path: str) -> Iterator[None]:
    """Have the lock of a folder."""
    descriptor = os.open(path, _FOLDER)
    try:
        # On a file system without locks the number of the process has to do.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def is_abandoned(path: str, owner: str) -> bool:
    """Say whether nobody needs a folder any more that has the mark of its owner in its name."""
    number, _, realm = owner.partition(".")
    if not number.isdecimal():
        return False
    if not realm or realm == _realm():
        if not _lives(number):
            return True
        if not realm:
            return False
    return _is_old(path) and not _is_held(path)


def _realm() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "0"


def _lives(number: str) -> bool:
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            # The name in parentheses may hold anything.
            state = file.read().rpartition(b")")[2].split()[:1]
    except OSError:
        return False
    return state not in ([b"Z"], [b"X"])


def _is_old(path: str) -> bool:
    try:
        # No program can set this one.
        return time.time() - os.lstat(path).st_ctime > _YOUNG
    except OSError:
        return False


def _is_held(path: str) -> bool:
    try:
        descriptor = os.open(path, _FOLDER)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


# -- folders for the time of one cell, and what a harness that was killed left in them -----------


_PLACEHOLDERS = "placeholders"
_ROOM = "planbound-cell-"


class Scratch:
    """A folder of its own for every cell, gone when the cell is."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        """In the state home: nobody else can see or write it."""
        self._swept = False

    @contextlib.contextmanager
    def room(self) -> Iterator[str]:
        """Yield an empty folder."""
        self._sweep()
        with self._made(self.folder) as path:
            yield path

    @contextlib.contextmanager
    def large_room(self) -> Iterator[str]:
        """Yield an empty folder for a copy of a tree: in memory, where that can be."""
        self._sweep()
        with self._made(_memory() or self.folder) as path:
            yield path

    @contextlib.contextmanager
    def _made(self, parent: str) -> Iterator[str]:
        try:
            # The state home is made by this, too: a mode is not for parents.
            os.makedirs(os.path.dirname(parent), mode=0o700, exist_ok=True)
            os.makedirs(parent, mode=0o700, exist_ok=True)
            name = f"{_ROOM}{mark().replace('.', '-')}-{os.urandom(6).hex()}"
            path = os.path.join(parent, name)
            os.mkdir(path, 0o700)
        except OSError as error:
            raise CellProblem(f"no folder for a cell in `{parent}`: {error.strerror}") from error
        try:
            with held(path):
                yield os.path.realpath(path)
        finally:
            with contextlib.suppress(OSError):
                remove_entry(path)

    @contextlib.contextmanager
    def placeholders(self, room: str, workspace: str, names: tuple[str, ...]) -> Iterator[None]:
        """Put an empty file where nothing may come to be; a mount covers it in the cell."""
        if not names:
            yield
            return
        paths = [os.path.join(workspace, name) for name in names]
        with open(os.path.join(room, _PLACEHOLDERS), "wb") as note:
            note.write(b"\0".join(os.fsencode(path) for path in paths))
        made: dict[int, str] = {}
        try:
            for path in paths:
                with contextlib.suppress(OSError):
                    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0)
                    made[os.fstat(file).st_ino] = path
                    os.close(file)
            yield
        finally:
            _take_away(list(made.values()))
            _take_away(_moved(workspace, made))

    def _sweep(self) -> None:
        """Remove what harnesses left that are no more."""
        if self._swept:
            return
        self._swept = True
        for path in self.abandoned():
            with contextlib.suppress(OSError):
                clear(path)

    def abandoned(self) -> list[str]:
        """Return the rooms of harnesses that are no more."""
        found: list[str] = []
        for parent in {self.folder, _memory() or self.folder}:
            with contextlib.suppress(OSError):
                found += [
                    os.path.join(parent, name)
                    for name in os.listdir(parent)
                    if name.startswith(_ROOM)
                    and is_abandoned(os.path.join(parent, name), _owner(name))
                    and os.lstat(os.path.join(parent, name)).st_uid == os.getuid()
                ]
        return found


def _owner(name: str) -> str:
    """Return the mark in the name of a room; one of an earlier version has only the number."""
    parts = name.removeprefix(_ROOM).split("-")
    return ".".join(parts[:2]) if len(parts) > 2 else parts[0]


def clear(room: str) -> None:
    """Remove a room, and what its cell put into the workspace."""
    with contextlib.suppress(OSError), open(os.path.join(room, _PLACEHOLDERS), "rb") as note:
        _take_away([os.fsdecode(path) for path in note.read().split(b"\0") if path])
    remove_entry(room)


def _take_away(paths: list[str]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            state = os.lstat(path)
            # Only what is still ours: empty, and open to nobody.
            if (
                stat.S_ISREG(state.st_mode)
                and not state.st_size
                and not stat.S_IMODE(state.st_mode)
            ):
                os.unlink(path)


def _moved(workspace: str, made: dict[int, str]) -> list[str]:
    """Return where placeholders are now whose folder was given another name."""
    lost = {number for number, path in made.items() if not os.path.isdir(os.path.dirname(path))}
    if not lost:
        return []
    names = {os.path.basename(made[number]) for number in lost}
    return [
        os.path.join(folder, name)
        for folder, _, files in os.walk(workspace)
        for name in names.intersection(files)
        if os.lstat(os.path.join(folder, name)).st_ino in lost
    ]


def _memory() -> str | None:
    """Return a folder in memory that files can be run from."""
    path = "/dev/shm"  # noqa: S108 - the folder in it is made for us alone
    try:
        space = os.statvfs(path)
    except OSError:
        return None
    roomy = space.f_bavail * space.f_frsize > 1 << 30
    usable = os.access(path, os.W_OK) and not space.f_flag & os.ST_NOEXEC
    return path if roomy and usable else None
