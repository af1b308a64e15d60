"""What is in a git directory: files that never change, files that do, and the refs they hold."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

TEMPORARY = "planbound.tmp"
"""What is written before it takes its place."""
_OBJECT = re.compile(
    r"objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/pack-[0-9a-f]+\.\w+)"
)
_LARGE = re.compile(r"(?:lfs|annex)/objects/")
_IGNORED = re.compile(r"(?:lfs|annex)/(?!objects/)")
_PASSING = re.compile(
    r"(?:.*/)?(?:[^/]*\.lock|gc\.pid|gc\.log|[^/]*_EDITMSG|AUTO_MERGE"
    r"|fsmonitor--daemon[^/]*|SQUASH_MSG|REBASE_HEAD|tmp_[^/]*|planbound\.tmp)"
    r"|.+/(?:ORIG_HEAD|FETCH_HEAD)",
    re.DOTALL,
)
"""What comes and goes with any command."""
_UNDER_WAY = re.compile(
    r"(?:worktrees/[^/]+/)?(?:MERGE_[A-Z]+|CHERRY_PICK_HEAD|REVERT_HEAD|BISECT_[A-Z_]+"
    r"|(?:rebase-(?:merge|apply)|sequencer)/.+)",
    re.DOTALL,
)
"""What says that a merge, a rebase or the like is not finished."""
_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LONGEST = 4096


class Seen(NamedTuple):
    """A file of a git directory, and what changes when it is written."""

    kind: int
    size: int
    changed: int
    """The time of the last change of anything about it, which no program can set."""


def is_stored(name: str) -> bool:
    """Say whether a path is in a store of contents, whose files never change."""
    return _OBJECT.fullmatch(name) is not None or is_large(name)


def is_large(name: str) -> bool:
    """Say whether a path is in a store of large files."""
    return _LARGE.match(name) is not None


def is_passing(name: str) -> bool:
    """Say whether a file comes and goes with any command."""
    return _PASSING.fullmatch(name) is not None or _IGNORED.match(name) is not None


def is_under_way(name: str) -> bool:
    """Say whether a file says that something is not finished."""
    return _UNDER_WAY.fullmatch(name) is not None


def is_git_folder(path: str) -> bool:
    """Say whether a folder is a git directory."""
    return os.path.isfile(f"{path}/HEAD") and os.path.isdir(f"{path}/objects")


def modules_of(folder: str) -> list[str]:
    """Return the git directories of submodules that a git directory keeps, at any depth."""
    found = []
    pending = [f"{folder}/modules"]
    while pending:
        each = pending.pop()
        if is_git_folder(each):
            found.append(each)
            pending.append(f"{each}/modules")
            continue
        try:
            with os.scandir(each) as entries:
                pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
    return sorted(found)


def walk(
    folder: str, *, but: frozenset[str] = frozenset()
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what is no folder in a git directory; folders in `but` are another one's."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(f"{folder}/{prefix}") as listed:
                entries = list(listed)
        except OSError:
            continue
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                yield prefix + entry.name, entry
            elif entry.path not in but:
                pending.append(f"{prefix}{entry.name}/")


def seen(entry: os.DirEntry[str]) -> Seen | None:
    """Return what a file or a link looks like; None where it is neither."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    kind = stat.S_IFMT(found.st_mode)
    if kind not in {stat.S_IFREG, stat.S_IFLNK}:
        return None
    return Seen(kind, found.st_size, found.st_ctime_ns)


# -- refs ----------------------------------------------------------------------------------------

Refs = dict[str, str]
"""By name the id of what it leads to, or `ref: ` and another name."""


def read_refs(folder: str) -> tuple[Refs, set[str]]:
    """Return the refs of a git directory, and the names of those that say nothing."""
    refs = _packed(f"{folder}/packed-refs")
    broken: set[str] = set()
    for name, entry in walk(f"{folder}/refs"):
        ref = f"refs/{name}"
        if name.endswith(".lock") or not entry.is_file(follow_symlinks=False):
            continue
        value = meaning(_line(f"{folder}/{ref}"))
        if value is None:
            broken.add(ref)
            refs.pop(ref, None)
        else:
            refs[ref] = value
    return refs, broken


def meaning(text: str | None) -> str | None:
    """Return what the text of a ref says; None where it says nothing."""
    if text is None:
        return None
    if text.startswith("ref:"):
        name = text.removeprefix("ref:").strip()
        return f"ref: {name}" if name.startswith("refs/") else None
    return text if _NAME.fullmatch(text) else None


def head_of(folder: str) -> str | None:
    """Return what the HEAD in a folder says; None where it says nothing."""
    path = f"{folder}/HEAD"
    if os.path.islink(path):
        target = os.readlink(path)
        return f"ref: {target}" if target.startswith("refs/") else None
    return meaning(_line(path))


def resolved(value: str | None, refs: Refs) -> str | None:
    """Return the id that a value leads to; None where that is nothing yet."""
    for _ in range(5):
        if value is None or not value.startswith("ref: "):
            return value
        value = refs.get(value.removeprefix("ref: "))
    return None


def _packed(path: str) -> Refs:
    refs: Refs = {}
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                value, _, name = line.rstrip("\n").partition(" ")
                if _NAME.fullmatch(value) and name.startswith("refs/"):
                    refs[name] = value
    except OSError:
        return refs
    return refs


def _line(path: str) -> str | None:
    try:
        # Not blocking: whatever is there must give an answer and not a wait.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return None
        return os.read(opened, _LONGEST).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return None
    finally:
        os.close(opened)


# -- packs ---------------------------------------------------------------------------------------


def packed_objects(index: str, width: int) -> set[str]:
    """Return the objects that the index of a pack names, their ids `width` bytes long."""
    start = 8 + 4 * 256
    try:
        with open(index, "rb") as file:
            data = file.read()
    except OSError:
        return set()
    count = int.from_bytes(data[start - 4 : start], "big")
    whole = len(data) >= start + count * (width + 8) + 2 * width
    if not data.startswith(b"\xfftOc\x00\x00\x00\x02") or not whole:
        return set()
    end = start + count * width
    return {data[place : place + width].hex() for place in range(start, end, width)}
