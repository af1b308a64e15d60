"""Locks of git whose process is no more: everybody who works next would stop at them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from planbound.shell.git.keeping import Record

_LOCKS = ("index.lock", "HEAD.lock")
"""Those of one worktree; others may be held by who works in another one."""


def remove_left_locks(record: Record) -> None:
    """Remove the locks that came since an agent began to work, and that nobody holds any more."""
    folder = f"{record.path}/{record.own}" if record.own else record.path
    left = [path for name in _LOCKS if _is_new(path := f"{folder}/{name}", record.since)]
    tops = [os.path.dirname(path) for path in record.pointers]
    if os.path.basename(record.path) == ".git" and not record.own:
        tops.append(os.path.dirname(record.path))
    if left and tops and not _is_git_at_work(tops):
        for path in left:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _is_new(path: str, since: int) -> bool:
    try:
        return os.lstat(path).st_ctime_ns >= since
    except OSError:
        return False


def _is_git_at_work(tops: Sequence[str]) -> bool:
    """Say whether a git runs in one of these worktrees: somebody's in another terminal."""
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True  # nobody can tell
    for number in numbers:
        try:
            with open(f"/proc/{number}/comm", "rb") as file:
                if not file.read().startswith(b"git"):
                    continue
            current = os.readlink(f"/proc/{number}/cwd")
        except OSError:
            continue
        if any(current == top or current.startswith(f"{top}/") for top in tops):
            return True
    return False
