"""The lock of a worktree, between the processes of one machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable

from planbound.errors import FileProblem

_PAUSE = 0.02


class WorktreeLock:
    """See `ports.worktree.Worktree`: a kernel lock, which goes with the process that holds it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: int | None = None

    def take(self, give_up: Callable[[], bool]) -> bool:
        """Wait for the lock; return False where `give_up` says so before it is there."""
        try:
            if self._descriptor is None:
                os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._descriptor = os.open(self.path, flags, 0o600)
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
                if give_up():
                    return False
                time.sleep(_PAUSE)
        except OSError as error:
            raise FileProblem(f"`{self.path}` cannot be locked: {error.strerror}") from error

    def leave(self) -> None:
        """Let go of the lock."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
