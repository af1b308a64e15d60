"""The objects of a repository: what was removed or written over, put back; what is new, checked."""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import os
import re
import time
import zlib
from collections.abc import Mapping

from planbound.shell.cell.copy import Copier
from planbound.shell.cell.inside.tree import remove_entry
from planbound.shell.git.directory import is_large, packed_objects
from planbound.shell.git.keeping import Record
from planbound.shell.git.program import Git

_LOOSE = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38,62})")
_FORTNIGHT = 14 * 86400
"""What nothing leads to and is older than that goes with git's own housekeeping."""
_LARGEST = 64 << 20


class Objects:
    """Compares the objects that are there with those that were."""

    def __init__(self, record: Record, after: Mapping[str, os.DirEntry[str]]) -> None:
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
