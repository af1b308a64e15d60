"""Sleeping until a file of a folder changes; apart from the rest, for it loads ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import sys
import time
from types import TracebackType
from typing import Self

SHORT = 0.25
"""How long to sleep, in seconds, where nobody tells of changes."""

_MODIFIED, _MOVED_HERE, _CREATED = 0x2, 0x80, 0x100  # from <sys/inotify.h>


class FolderWatch:
    """Tells when something in a folder is written, created or moved there."""

    def __init__(self, folder: str) -> None:
        self._descriptor = _watch(folder) if sys.platform == "linux" else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def wait(self, seconds: float) -> bool:
        """Sleep until something changes, or for so long; return whether a change was seen."""
        if self._descriptor is None:
            time.sleep(min(seconds, SHORT))
            return False
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        if not poll.poll(max(1, round(seconds * 1000))):
            return False
        with contextlib.suppress(BlockingIOError):
            # What changed does not matter: one read takes all that is told so far.
            os.read(self._descriptor, 65536)
        return True


def _watch(folder: str) -> int | None:
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    except AttributeError:  # a C library without it
        return None
    if descriptor < 0:
        return None
    mask = _MODIFIED | _MOVED_HERE | _CREATED
    if libc.inotify_add_watch(descriptor, os.fsencode(folder), mask) < 0:
        os.close(descriptor)
        return None
    return descriptor
