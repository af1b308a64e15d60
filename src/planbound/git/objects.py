"""The objects of a repository: what was removed or written over, put back; what is new, checked."""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from planbound.cells.copies import Copier
from planbound.cells.inside.tree import remove_entry
from planbound.git.backup import Backup
from planbound.git.directory import TEMPORARY, is_large, packed_objects
from planbound.git.program import Git, GitOutput

_LOOSE = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38,62})")
_FORTNIGHT = 14 * 86400
"""What nothing leads to and is older than that goes with git's own housekeeping."""
_LARGEST = 64 << 20


class Objects:
    """Compares the objects that are there with those that were."""

    def __init__(self, record: Backup, after: Mapping[str, os.DirEntry[str]]) -> None:
        self.record = record
        self.before = record.names()
        self.after = after
        self.missing = [name for name in self.before if name not in self.after]
        self.spoilt = [name for name in self.before if self._is_spoilt(name)]

    @property
    def are_untouched(self) -> bool:
        """Return whether everything is as it was, or more."""
        return not self.missing and not self.spoilt

    @property
    def are_the_same(self) -> bool:
        """Return whether nothing is new, either."""
        return self.are_untouched and len(self.after) == len(self.before)

    def _is_spoilt(self, name: str) -> bool:
        """Say whether a file has another content than before."""
        entry = self.after.get(name)
        if entry is None:
            return False
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            return True
        if found.st_ctime_ns < self.record.since or self.record.is_light:
            return False
        kept = f"{self.record.pool}/{name}"
        try:
            if os.path.samestat(found, os.lstat(kept)):
                return False  # linked: there is nothing to compare it with
            return not filecmp.cmp(entry.path, kept, shallow=False)
        except OSError:
            return False  # sealed: nobody could write it

    def lost(self) -> set[str]:
        """Return the objects that are in no file any more."""
        gone = {*self.missing, *self.spoilt}
        width = len(self.record.no_id) // 2
        held: set[str] = set()
        lost: set[str] = set()
        for name in self.after:
            if name in gone or is_large(name):
                continue
            if loose := _LOOSE.fullmatch(name):
                held.add(loose[1] + loose[2])
            elif name.endswith(".idx") and f"{name[:-3]}pack" not in gone:
                held |= packed_objects(f"{self.record.path}/{name}", width)
        for name in gone:
            if loose := _LOOSE.fullmatch(name):
                lost.add(loose[1] + loose[2])
            elif name.endswith((".pack", ".idx")):
                index = f"{name.rpartition('.')[0]}.idx"
                lost |= packed_objects(f"{self.record.pool}/{index}", width)
        return lost - held

    def are_old(self) -> bool:
        """Return whether all that is missing had been lying about for long."""
        limit = time.time() - _FORTNIGHT
        for name in (*self.missing, *self.spoilt):
            with contextlib.suppress(OSError):
                if os.stat(f"{self.record.pool}/{name}").st_mtime > limit:
                    return False
        return not self.spoilt

    def put_back(self) -> list[str]:
        """Put back what is missing or spoilt; return what could not be."""
        copier = Copier()
        failed = []
        for name in (*self.missing, *self.spoilt):
            kept, path = f"{self.record.pool}/{name}", f"{self.record.path}/{name}"
            fresh = f"{path}.planbound"
            try:
                _folder(self.record.path, os.path.dirname(name))
                remove_entry(fresh)
                copier.copy(kept, fresh)
                if os.path.isdir(path):
                    remove_entry(path)
                os.replace(fresh, path)
            except OSError:
                failed.append(name)
        return failed

    def refuse_broken(self, git: Git) -> int:
        """Remove new objects that are none; return how many."""
        known = set(self.before)
        removed = 0
        for name in self.after.keys() - known:
            path = f"{self.record.path}/{name}"
            if loose := _LOOSE.fullmatch(name):
                whole = _is_object(path, loose[1] + loose[2])
            elif name.endswith(".pack"):
                whole = git.bare("verify-pack", path).code == 0
            else:
                whole = not name.endswith(".idx") or os.path.exists(f"{path[:-3]}pack")
            if not whole:
                removed += 1
                for each in {path, path.removesuffix(".pack") + ".idx"}:
                    with contextlib.suppress(OSError):
                        remove_entry(each)
        return removed


def _folder(top: str, name: str) -> None:
    """Make the folders of a path; what is in the way is removed."""
    folder = top
    for each in name.split("/"):
        folder = f"{folder}/{each}"
        if os.path.islink(folder) or not os.path.isdir(folder):
            remove_entry(folder)
            os.mkdir(folder)


def _is_object(path: str, name: str) -> bool:
    """Say whether a file is the object that it is called after."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                return True  # whoever reads it checks it
            data = zlib.decompress(file.read())
    except (OSError, zlib.error):
        return False
    kind = "sha1" if len(name) == 40 else "sha256"
    return hashlib.new(kind, data).hexdigest() == name


# -- the index of a worktree: whether it is one, and single paths of it put back -----------------


_HASHES = (("sha1", 20), ("sha256", 32))

Run = Callable[..., GitOutput]
"""Runs git on the repository with another index: `run(index, *words, input=...)`."""


class IndexEntry(NamedTuple):
    """What the index has at a path; several at once while a merge is not resolved."""

    mode: str
    id: str
    stage: str


def is_whole(path: str) -> bool:
    """Say whether a file is an index that nobody cut off or wrote into."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return False
    if data[:4] != b"DIRC" or len(data) < 32:
        return False
    return any(
        # Without a check sum where the configuration says so.
        data[-width:] in {hashlib.new(name, data[:-width]).digest(), bytes(width)}
        for name, width in _HASHES
    )


def count(path: str) -> int:
    """Return how many entries an index has."""
    try:
        with open(path, "rb") as file:
            return int.from_bytes(file.read(12)[8:], "big")
    except OSError:
        return 0


def entries(run: Run, index: str) -> dict[str, list[IndexEntry]]:
    """Return what an index has, by path."""
    found: dict[str, list[IndexEntry]] = {}
    said = run(index, "ls-files", "--stage", "-z")
    for line in said.lines if said.code == 0 else ():
        facts, _, path = line.partition("\t")
        mode, name, stage = facts.split(" ")
        found.setdefault(path, []).append(IndexEntry(mode, name, stage))
    return found


def unwatched(run: Run, index: str) -> set[str] | None:
    """Return the paths whose files an index tells git not to look at; None: it cannot be read."""
    said = run(index, "ls-files", "-v", "-z")
    if said.code != 0:
        return None
    # A small letter: assumed to be unchanged; `S`: not to be in the worktree.
    return {line[2:] for line in said.lines if line[:1].islower() or line[:1] == "S"}


def staged(run: Run, index: str, commit: str | None) -> dict[str, str]:
    """Return the paths at which an index is not as a commit, each with its mode and id there."""
    if commit is None:
        return {path: f"{of[0].mode} {of[0].id}" for path, of in entries(run, index).items()}
    said = run(index, "diff-index", "--cached", "--raw", "-z", "--no-renames", commit)
    lines = said.lines if said.code == 0 else []
    found = {}
    for facts, path in zip(lines[::2], lines[1::2], strict=False):
        _, mode, _, name, _ = facts.split(" ")
        found[path] = f"{mode} {name}"
    return found


def put_back(
    run: Run, index: str, wanted: Mapping[str, Iterable[IndexEntry]], fresh: str, no_id: str
) -> bool:
    """Let an index have these entries at these paths, and no others there.

    `fresh` is a file beside nothing that matters: what is written is there first.
    """
    lines = []
    for path, of in wanted.items():
        name = os.fsencode(path)
        lines.append(b"0 %s\t%s\0" % (no_id.encode(), name))
        lines += [f"{each.mode} {each.id} {each.stage}\t".encode() + name + b"\0" for each in of]
    if os.path.exists(index):
        with open(index, "rb") as source, open(fresh, "wb") as target:
            target.write(source.read())
    # What a part of the index that lies elsewhere says is taken into this one.
    words = ("update-index", "--no-split-index", "-z", "--index-info")
    said = run(fresh, *words, input=b"".join(lines))
    if said.code != 0:
        return False
    with open(fresh, "rb") as source:
        data = source.read()
    beside = os.path.join(os.path.dirname(index), TEMPORARY)
    with open(beside, "wb") as target:
        target.write(data)
    os.replace(beside, index)
    os.unlink(fresh)
    return True
