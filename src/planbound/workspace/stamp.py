"""What a tree looks like from outside: names, times and sizes, no contents.

Good enough to see that nothing happened, where nobody tries to hide it.
"""

from __future__ import annotations

import hashlib
import os

from planbound.engine.manifest import CACHES, SUMMARISED

_SKIPPED = frozenset(os.fsdecode(name) for name in (*CACHES, *SUMMARISED)) | {".harness"}
PREFIX = "seen-"
"""How a stamp begins, so that nobody takes it for the digest of contents."""


def stamp_of(root: str) -> str:
    """Return what changes when a file of the tree is written, added or removed."""
    digest = hashlib.sha256()
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=_name)
        except OSError:
            continue
        for entry in entries:
            if entry.name in _SKIPPED:
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
                line = f"{entry.path}\0{status.st_mode}\0"
            else:
                line = f"{entry.path}\0{status.st_mode}\0{status.st_mtime_ns}\0{status.st_size}\0"
            digest.update(line.encode("utf-8", "surrogateescape"))
    return PREFIX + digest.hexdigest()[:40]


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name
