"""Keeps the harness's own copy of a git directory, brought up to date before an agent works.

Objects never change, so each is copied once for all attempts, into a pool. Everything else is
small, and is copied again where it was written since. See docs/decisions/019.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from planbound.cells.copies import Copier
from planbound.cells.inside.tree import remove_entry
from planbound.git.directory import (
    SeenFile,
    head_of,
    is_large,
    is_passing,
    is_stored,
    read_refs,
    resolved,
    seen,
    walk,
)

HEAD = "HEAD"
PLANS, SETTINGS = ".harness", "planbound.toml"
STASHES = "logs/refs/stash"
_WORTH_A_MOUNT = 1 << 20
_MOST_SEALED = 60
_TOO_LARGE = 256 << 20
"""A file of more bytes is linked, where the file system cannot share the blocks of a copy."""
_OURS = os.urandom(6).hex()
"""What no other process calls its files."""
_HALF_WRITTEN = re.compile(r"(?:^|/)\.[^/]+\.tmp$")
"""What a process of the harness is about to put in a file's place."""
_MARGIN = 2_000_000_000
"""Nanoseconds by which clocks of file systems may differ."""


class Level(NamedTuple):
    """How far a cell keeps its command from a repository."""

    mounts: bool
    """Whether single files can be made read-only for it."""
    walls: bool
    """Whether it can write to nothing outside of its workspace."""


class Backup:
    """What is known of a git directory as it was before an agent worked."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = ""
        """Where the git directory is."""
        self.own = ""
        """Where in it the HEAD and the index of the agent's worktree are; empty: at the top."""
        self.since = 0
        self.is_open = False
        self.is_light = False
        """Whether only names are kept of objects: it is a copy itself, and can be made anew."""
        self.is_plain = False
        """Whether it is no git directory, but the harness's own files, of which none may go."""
        self.is_watched = False
        """Whether others compare its configuration and hooks with what they were."""
        self.by = ""
        self.run = ""
        self.base: dict[str, str] = {}
        """By ref what it led to before any agent of the run moved it."""
        self.left: dict[str, str] = {}
        """By ref what it led to when the last agent of the run had ended."""
        self.small: dict[str, SeenFile] = {}
        self.pointers: dict[str, str] = {}
        """Files that say where the git directory is, with what they say."""
        self.fixed: list[str] = []
        """Refs that are none of the agent's business, also where they would only move on."""
        self.destroyed: list[str] = []
        self.mended: list[str] = []
        self.strayed: list[str] = []
        """Refs that moved on although they may not, and are back."""

    @property
    def copies(self) -> str:
        return f"{self.folder}/small"

    @property
    def pool(self) -> str:
        """Return where the objects are, for all who work with the same git directory."""
        return f"{os.path.dirname(self.folder)}/pool-{short(self.path)}"

    @property
    def no_id(self) -> str:
        """Return the id of nothing, as long as ids are in this repository."""
        try:
            with open(f"{self.copies}/config", encoding="utf-8", errors="replace") as file:
                is_long = re.search(r"(?im)^\s*objectformat\s*=\s*sha256", file.read())
        except OSError:
            is_long = None
        return "0" * (64 if is_long else 40)

    def names(self) -> list[str]:
        """Return the files of the stores as they were."""
        with open(f"{self.folder}/names", encoding="utf-8", errors="surrogateescape") as file:
            return [name for name in file.read().split("\0") if name]

    def write_names(self, names: Iterable[str]) -> None:
        """Write down the files of the stores, where they are others than before."""
        path, data = f"{self.folder}/names", "\0".join(names).encode("utf-8", "surrogateescape")
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if file.read() == data:
                return
        _replace(path, data)

    def load(self) -> bool:
        """Read what was written; say whether there is anything."""
        try:
            with open(f"{self.folder}/record.json", encoding="ascii") as file:
                known = json.load(file)
        except (OSError, ValueError):
            return False
        small = {name: SeenFile(*values) for name, values in known.pop("small").items()}
        self.__dict__.update(known, small=small)
        return True

    def write(self) -> None:
        """Write everything down, all or nothing."""
        known = {name: value for name, value in self.__dict__.items() if name != "folder"}
        _replace(f"{self.folder}/record.json", json.dumps(known).encode("ascii"))


def short(path: str) -> str:
    """Return a name for a path."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def keep(record: Backup, level: Level, modules: Iterable[str]) -> list[str]:
    """Bring a copy up to date with its git directory; return the files that must be read-only.

    What is known of it then is written by who asked. Raise OSError where that cannot be done.
    """
    os.makedirs(record.copies, mode=0o700, exist_ok=True)
    record.since = _now(record.folder) - _MARGIN
    stored: list[str] = []
    sizes: dict[str, int] = {}
    small: dict[str, SeenFile] = {}
    but = frozenset(modules)
    found = plain_files(record.path) if record.is_plain else walk(record.path, but=but)
    for name, entry in found:
        if is_stored(name) and not record.is_plain:
            if "/pack/" in name or is_large(name):
                if (state := seen(entry)) is None:
                    continue  # gone meanwhile, by somebody's housekeeping
                sizes[name] = state.size
            stored.append(name)
        elif not is_passing(name) and (state := seen(entry)) is not None:
            small[name] = state
    sealed: list[str] = []
    if not record.is_light and not record.is_plain:
        sealed = _pooled(record, stored, sizes, level)
    record.write_names(stored)
    _copy_small(record, small)
    record.small = {name: state for name, state in small.items() if _is_there(record, name)}
    if not record.is_plain:
        _rebase(record)
    record.destroyed, record.mended, record.strayed = [], [], []
    record.is_open = True
    record.by = process_name()
    return sealed


def plain_files(root: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the files of a workspace that are the harness's: plans, progress, configuration."""
    for name, entry in walk(f"{root}/{PLANS}"):
        if not _HALF_WRITTEN.search(name):
            yield f"{PLANS}/{name}", entry
    try:
        with os.scandir(root) as entries:
            yield from ((each.name, each) for each in entries if each.name == SETTINGS)
    except OSError:
        return


def _now(folder: str) -> int:
    path = f"{folder}/now"
    with open(path, "w", encoding="ascii"):
        return os.stat(path).st_ctime_ns


def _pooled(record: Backup, stored: list[str], sizes: dict[str, int], level: Level) -> list[str]:
    pool = record.pool
    there = {name for name, _ in walk(pool)}
    sealed: list[str] = []
    if level.mounts:
        large = [name for name, size in sizes.items() if size >= _WORTH_A_MOUNT]
        sealed = sorted(large, key=lambda name: -sizes[name])[:_MOST_SEALED]
    copier = Copier()
    folders: set[str] = set()
    for name in stored:
        source, target = f"{record.path}/{name}", f"{pool}/{name}"
        linked = name in sealed
        if name in there:
            # What only has another name there can be written through the first one.
            if name not in sizes or linked or is_large(name) or not _is_same(source, target):
                continue
            os.unlink(target)
        if (folder := target.rpartition("/")[0]) not in folders:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            folders.add(folder)
        if linked or is_large(name):
            with contextlib.suppress(OSError):  # sealed, or of another file system
                os.link(source, target, follow_symlinks=False)
                continue
            if linked:
                continue
        _take(copier, source, target, sizes.get(name, 0))
    if not _others_at_work(record):
        for name in there.difference(stored):
            with contextlib.suppress(OSError):
                os.unlink(f"{pool}/{name}")
    return sealed


def _take(copier: Copier, source: str, target: str, size: int) -> None:
    fresh = f"{target}.{_OURS}"
    if os.path.islink(source):
        os.symlink(os.readlink(source), fresh)
    else:
        copier.copy(source, fresh, only_shared=size > _TOO_LARGE)
    if size > _TOO_LARGE and not os.path.lexists(fresh):
        try:
            os.link(source, fresh)
        except OSError:
            copier.copy(source, fresh)
    with contextlib.suppress(FileNotFoundError):  # what cannot be read is nobody's loss
        os.replace(fresh, target)


def _copy_small(record: Backup, small: dict[str, SeenFile]) -> None:
    before, copies = record.small, record.copies
    copier = Copier()
    for name in before.keys() - small.keys():
        with contextlib.suppress(OSError):
            remove_entry(f"{copies}/{name}")
    for name, state in small.items():
        target = f"{copies}/{name}"
        if before.get(name) == state and os.path.lexists(target):
            continue
        make_way(copies, name)
        _take(copier, f"{record.path}/{name}", target, 0)


def _is_there(record: Backup, name: str) -> bool:
    """Say whether a file did not go by itself while the others were copied."""
    kept, path = f"{record.copies}/{name}", f"{record.path}/{name}"
    return os.path.lexists(kept) or os.path.lexists(path)


def make_way(top: str, name: str) -> None:
    """Let the folders of a file be there, and nothing at its own place."""
    folder = top
    for each in name.split("/")[:-1]:
        folder = f"{folder}/{each}"
        if not os.path.isdir(folder) or os.path.islink(folder):
            remove_entry(folder)
            os.mkdir(folder, 0o700)
    if os.path.isdir(f"{top}/{name}") and not os.path.islink(f"{top}/{name}"):
        remove_entry(f"{top}/{name}")


def _rebase(record: Backup) -> None:
    """Take what nobody but agents of this run has moved as theirs, and the rest as it is now."""
    refs = marks_of(record.copies, record.own)
    record.base = {
        name: base
        for name, value in refs.items()
        if (base := record.base.get(name) if record.left.get(name) == value else value) is not None
    }


def marks_of(folder: str, own: str) -> dict[str, str]:
    """Return what agents may move on and not back: refs, HEAD by its commit, and the stashes."""
    refs, _ = read_refs(folder)
    marks = dict(refs)
    at = resolved(head_of(f"{folder}/{own}" if own else folder), refs)
    if at is not None:
        marks[HEAD] = at
    marks[STASHES] = " ".join(stashes(folder))
    return marks


def stashes(folder: str) -> list[str]:
    """Return the ids of what is stashed, the oldest first."""
    try:
        with open(f"{folder}/{STASHES}", "rb") as file:
            lines = file.read().decode("utf-8", "surrogateescape").split("\n")
    except OSError:
        return []
    return [words[1] for line in lines if len(words := line.split(" ", 2)) == 3]


def _others_at_work(record: Backup) -> bool:
    """Say whether somebody else's agent works with the same git directory."""
    parent = os.path.dirname(record.folder)
    for name in os.listdir(parent):
        other = Backup(f"{parent}/{name}")
        if not name.startswith("kept-") or other.folder == record.folder or not other.load():
            continue
        if other.path == record.path and other.is_open:
            return True
    return False


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.lstat(other))
    except OSError:
        return False


def _replace(path: str, data: bytes) -> None:
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "wb") as file:
        file.write(data)
    os.replace(fresh, path)


# -- processes -----------------------------------------------------------------------------------


def process_name() -> str:
    """Return a name for this process that no other one ever has."""
    return f"{os.getpid()} {_began(os.getpid())}"


def is_running(name: str) -> bool:
    """Say whether the process of that name is still there."""
    number, _, began = name.partition(" ")
    return number.isdigit() and _began(int(number)) == began != ""


def _began(number: int) -> str:
    try:
        with open(f"/proc/{number}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
