"""Opens again what was closed in a git directory: permissions are taken away as files are."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

_FOLDER = 0o700
_READ, _WRITE = 0o400, 0o200


def open_folders(top: str, since: int) -> bool:
    """Let the owner read and write all folders of a git directory; say whether one was closed.

    Only what changed since then: what was closed before is somebody's wish.
    """
    opened = [path for path in _above(top) if open_folder(path, since)]
    pending = [top]
    while pending:
        folder = pending.pop()
        if open_folder(folder, since):
            opened.append(folder)
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return bool(opened)


def _above(top: str) -> Iterator[str]:
    """Yield the folders between `.git` and the git directory of a submodule, from the top."""
    above, marker, below = top.rpartition("/.git/")
    if marker:
        folder = f"{above}/.git"
        for name in below.split("/"):
            yield folder
            folder = f"{folder}/{name}"


def open_folder(path: str, since: int) -> bool:
    """Let the owner read and write a folder that changed since; say whether it was closed."""
    try:
        found = os.lstat(path)
        if (
            not stat.S_ISDIR(found.st_mode)
            or found.st_mode & _FOLDER == _FOLDER
            or found.st_ctime_ns < since
        ):
            return False
        os.chmod(path, stat.S_IMODE(found.st_mode) | _FOLDER)
    except OSError:
        return False
    return True


def open_file(entry: os.DirEntry[str], kept: str, since: int) -> bool:
    """Let a file have the permissions of its copy, where its owner has fewer; say whether so."""
    try:
        found = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or found.st_ctime_ns < since:
            return False
        wanted = _mode(kept, found.st_mode) | _READ
        if not wanted & (_READ | _WRITE) & ~found.st_mode:
            return False
        os.chmod(entry.path, wanted)
    except OSError:
        return False
    return True


def _mode(kept: str, otherwise: int) -> int:
    try:
        return stat.S_IMODE(os.lstat(kept).st_mode)
    except OSError:
        return stat.S_IMODE(otherwise)
