"""What a contract can see besides its tree: the programs and packages of the machine, at a glance.

Two glances that are the same let what was measured at the first stand for the second. Where
something is in sight that no glance covers, there is none, and everything is measured anew.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from glob import glob

import planbound
from planbound.cells.orders import is_below
from planbound.judging.context import JudgingContext
from planbound.script import Script
from planbound.workspace.environment import linked_places
from planbound.workspace.manifest import EntryType, Manifest

MOST = 50_000
"""So many files outside of the tree are looked at; where there are more, nothing is taken over."""
_SYSTEM = (
    "/var/lib/dpkg/status",
    "/var/lib/rpm",
    "/lib/apk/db/installed",
    "/var/lib/pacman/local",
    "/etc/ld.so.cache",
    "/etc/localtime",
)
"""What changes where the packages of the machine do."""
_OF_SYSTEM = ("/bin", "/dev", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr")
"""What is looked at by the packages of the machine, or is a cell's own."""


class _UnsureError(Exception):
    """There is more in sight than can be looked at."""


def glance(judging: JudgingContext, script: Script, manifest: Manifest) -> str | None:
    """Return a digest of what a contract sees besides its tree; None where nobody can tell."""
    looks = hashlib.sha256(os.uname().release.encode())
    root = judging.tree.root
    named = {*_shown(judging, root), *_paths(script), *_linked(manifest, root)}
    named.update(_links(_folders(judging), root))
    try:
        for line in _lines(judging, script, root, sorted(named)):
            looks.update(line)
    except _UnsureError:
        return None
    return looks.hexdigest()


def _lines(
    judging: JudgingContext, script: Script, root: str, named: Iterable[str]
) -> Iterator[bytes]:
    outside = [path for path in _folders(judging) if not is_below(path, root)]
    for path in (*_SYSTEM, *outside, *_programs(script, outside), *_packages(outside)):
        yield _look(path)
    left = MOST
    for path in named:
        for look in _all_of(path):
            left -= 1
            if left < 0:
                raise _UnsureError
            yield look


def _folders(judging: JudgingContext) -> list[str]:
    return [path for path in judging.environment.get("PATH", "").split(os.pathsep) if path]


def _look(path: str) -> bytes:
    """Return what a file or folder looks like, links followed, without its content."""
    try:
        found = os.stat(path)
    except OSError:
        return os.fsencode(path) + b"\0-\n"
    facts = (found.st_dev, found.st_ino, found.st_mode, found.st_size)
    return os.fsencode(path) + repr((*facts, found.st_mtime_ns, found.st_ctime_ns)).encode() + b"\n"


def _programs(script: Script, folders: Iterable[str]) -> Iterator[str]:
    """Yield where the programs that a contract names may be, in every folder."""
    names = {
        word.value
        for call in script.calls
        for word in (call.word, *call.wrappers)
        if word is not None and word.value
    }
    for name in sorted({"bash", *names}):
        if name.startswith("/"):
            yield name
        elif "/" not in name:
            yield from (os.path.join(folder, name) for folder in folders)


def _prefixes(folders: Iterable[str]) -> Iterator[str]:
    """Yield what folders of programs belong to."""
    yield from dict.fromkeys(os.path.dirname(path.rstrip("/")) for path in folders)


def _packages(folders: Iterable[str]) -> Iterator[str]:
    """Yield what stands in the folders of Python packages: what comes, goes or is replaced shows.

    What is in a package is not looked at: who edits what is installed knows it.
    """
    for prefix in _prefixes(folders):
        for kind in ("site-packages", "dist-packages"):
            for folder in sorted(glob(os.path.join(prefix, "lib", "python*", kind))):
                yield from (os.path.join(folder, name) for name in sorted(os.listdir(folder)))


def _links(folders: Iterable[str], root: str) -> Iterator[str]:
    """Yield the places outside of the tree of packages that are only linked in an environment."""
    for prefix in _prefixes(folders):
        for path in linked_places(prefix):
            place = os.path.realpath(path)
            if os.path.exists(place) and not is_below(place, root):
                yield place


def _paths(script: Script) -> Iterator[str]:
    """Yield what a contract names by its place on the machine, apart from the system's own."""
    for call in script.calls:
        files = [each.target for each in call.redirects]
        for word in (*call.arguments, *files):
            path = (word.value or "").rpartition("=")[2]
            if path.startswith("/") and not any(is_below(path, each) for each in _OF_SYSTEM):
                yield path


def _linked(manifest: Manifest, root: str) -> Iterator[str]:
    """Yield where links of the tree lead that lead out of it."""
    for path, entry in manifest.entries.items():
        if entry.type is EntryType.LINK:
            place = os.path.realpath(os.path.join(root, os.fsdecode(path)))
            if not is_below(place, root):
                yield place


def _shown(judging: JudgingContext, root: str) -> list[str]:
    """Return what a contract is shown on purpose, without Planbound's own places."""
    own = {sys.prefix, sys.base_prefix}
    package = os.path.dirname(os.path.dirname(os.path.abspath(planbound.__file__)))
    # A toolchain is looked at by its programs and its packages.
    tools = {*judging.view.tools, *judging.view.caches}
    return [
        path
        for path in set(judging.exposed) - own - tools
        if path != package and not is_below(path, root)
    ]


def _all_of(path: str) -> Iterator[bytes]:
    """Yield what everything below a path looks like."""
    yield _look(path)
    if not os.path.isdir(path):
        return
    for parent, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in (*folders, *sorted(files)):
            yield _look(os.path.join(parent, name))
