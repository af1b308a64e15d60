"""The files of a workspace, for somebody who plans work in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from planbound.workspace.manifest import CACHES, SUMMARISED
from planbound.workspace.root import HARNESS

# -- the files of a workspace, as somebody who plans work in it gets to see them -----------------


class Listing(NamedTuple):
    """The names of files, seen from the root of the workspace."""

    paths: tuple[str, ...]
    left_out: bool = False
    """Whether there are more."""


# -- the files of a workspace, for somebody who plans work in it ---------------------------------


MOST = 20_000
"""More names than a prompt can hold: what is shown is chosen among them."""
_READ = 1 << 20
_CLOSED = frozenset(os.fsdecode(name) for name in SUMMARISED | CACHES) | {HARNESS}


class RealRepository:
    """The workspace on this machine."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    def listing(self) -> Listing:
        """Return what is there, folder by folder."""
        found = list(islice(self._walk(), MOST + 1))
        return Listing(tuple(found[:MOST]), left_out=len(found) > MOST)

    def _walk(self) -> Iterator[str]:
        for folder, below, files in os.walk(self._root):
            below[:] = sorted(
                name for name in below if not _is_closed(os.path.join(folder, name), name)
            )
            for name in sorted(files):
                yield os.path.relpath(os.path.join(folder, name), self._root)

    def read(self, path: str) -> bytes | None:
        """Return the first megabyte of a regular file; None for everything else."""
        if "\0" in path or ".git" in path.split("/"):
            return None
        # The real place, so that neither `..` nor a link on the way leads out.
        real = os.path.realpath(os.path.join(self._root, path))
        if not real.startswith(self._root.rstrip(os.sep) + os.sep):
            return None
        try:
            # Not blocking: a FIFO must give an answer and not a wait.
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(real, flags)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(_READ)
        except OSError:
            return None
        finally:
            os.close(descriptor)


def _is_closed(path: str, name: str) -> bool:
    """Say whether a folder is not looked into: made by tools, or an environment by any name."""
    return name in _CLOSED or os.path.isfile(os.path.join(path, "pyvenv.cfg"))
