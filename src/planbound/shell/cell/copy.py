"""A copy of the workspace, where no overlay can be laid over it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

_LINKED = frozenset({".git", ".venv", "venv", "node_modules"})


def copy_tree(source: str, target: str, *, whole: bool, hidden: frozenset[str]) -> None:
    """Copy files, folders and links; what is none of these, and what is hidden, is left out.

    Unless it is to be whole, a link leads to large folders that nobody works in: for a cell in
    which nothing can be written through it.
    """
    os.mkdir(target, 0o700)
    # What is hidden cannot be left out of a folder that is only linked to.
    opened = {parent for path in hidden for parent in _parents(path)}
    pending = [""]
    while pending:
        below = pending.pop()
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
                if not whole and _is_linked(entry) and entry.path not in opened:
                    os.symlink(entry.path, to)
                else:
                    os.mkdir(to, stat.S_IMODE(entry.stat().st_mode) | 0o700)
                    pending.append(name)
            elif entry.is_file():
                _copy_file(entry.path, to)


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


def _copy_file(source: str, target: str) -> None:
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
            _copy_data(reading, writing, state.st_size)
            os.fchmod(writing, stat.S_IMODE(state.st_mode))
            # `make` goes by the times.
            os.utime(writing, ns=(state.st_atime_ns, state.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)
