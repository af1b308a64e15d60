"""Whose a folder of the state home is, and whether its owner is still there.

A folder's name holds the number of the process that made it, and which process namespace that
number belongs to. As long as the process needs the folder, it has a lock on it, which the kernel
takes away with the process: that tells also where numbers are used again, and between containers
that share a state home.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

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
