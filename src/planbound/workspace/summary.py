"""A directory as one entry: whether anything in it was written, without reading it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct

from planbound.engine.manifest import Entry, EntryType

GIT_READ = re.compile(
    rb"(?:HEAD|config|config\.worktree|commondir|hooks|info"
    rb"|modules/(?:(?!refs/|logs/|objects/)[^/]+/)+(?:config|config\.worktree|hooks|info)"
    rb"|worktrees/[^/]+/config\.worktree)",
    re.DOTALL,
)
"""What is read like any other file, seen from `.git`: it makes git run programs."""

_GIT_OWN = re.compile(
    rb"(?:[A-Z_]+HEAD|[A-Z_]+_(?:EDITMSG|MSG|MODE|RR|MERGE|LOG|NAMES|START|TERMS|EXPECTED_REV)"
    rb"|BISECT_.*|index|packed-refs|shallow|description|gc\.(?:pid|log)|sharedindex\..*"
    rb"|fsmonitor--daemon.*|AUTO_MERGE|objects|refs|logs|branches|modules|worktrees|lfs|rr-cache"
    rb"|rebase-(?:apply|merge)|sequencer|annex|reftable|cruft|filter-repo|opencode|.*\.lock)",
    re.DOTALL,
)
"""Also what others are known to keep there: opencode writes its name for the project."""

_GIT_ASIDE = re.compile(
    rb"lfs|rr-cache|filter-repo|opencode|cruft|branches/[^/]+|gc\.(?:pid|log)|fsmonitor--daemon[^/]*"
    rb"|[^/]*\.lock|annex/(?!objects\Z)[^/]+",
    re.DOTALL,
)
"""What others keep beside git's own files, and nobody looks at: no contract gets to see it."""

ANNEXED = b"annex/objects"
"""Links of the tree lead into it: it is watched like any folder that is summarised."""

_REWRITTEN = frozenset({b"__pycache__", b".vite", b".vite-temp", b".vitest"})

# Length of the path, type, mode, size, mtime and ctime.
_LINE = struct.Struct(">IHHQQQ")


def is_rewritten(folder: bytes, name: bytes) -> bool:
    """Say whether programs write a directory when they only run: it is left out."""
    return name in _REWRITTEN or (name == b".cache" and folder.endswith(b"node_modules"))


def is_gits_own(name: bytes) -> bool:
    """Say whether git itself makes something of that name in `.git`: the rest is looked at."""
    return _GIT_OWN.fullmatch(name) is not None


def is_aside(path: bytes) -> bool:
    """Say whether something in `.git`, seen from there, is nothing that git itself reads."""
    return _GIT_ASIDE.fullmatch(path) is not None


class Summary:
    """A directory as one entry: what is in it with times, without contents.

    With the time of the last change of anything about a file, which no program can set: a file
    that is written has another one, even where the time of its content is set back.
    """

    def __init__(self, path: bytes, mode: int) -> None:
        self.path = path
        self.mode = mode
        self.count = 0
        self.digest = hashlib.sha256()

    def add(self, path: bytes, found: os.stat_result | None) -> None:
        """Take in what is at a path, or that nobody can tell; in the order of a walk."""
        self.count += 1
        if found is None:
            self.digest.update(_LINE.pack(len(path), 0, 0, 0, 0, 0) + path)
            return
        kind, mode = stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode)
        # The times of a directory change with caches that are left out.
        facts = (found.st_size, _unsigned(found.st_mtime_ns), _unsigned(found.st_ctime_ns))
        size, modified, changed = (0, 0, 0) if kind == stat.S_IFDIR else facts
        self.digest.update(_LINE.pack(len(path), kind, mode, size, modified, changed) + path)

    def entry(self) -> Entry:
        """Return the directory as its one entry."""
        return Entry(EntryType.SUMMARY, self.mode, self.count, self.digest.digest())


def _unsigned(nanoseconds: int) -> int:
    return nanoseconds & 0xFFFF_FFFF_FFFF_FFFF  # before 1970 it is negative
