"""What a tree holds, as a value: every entry with its type, mode and content."""

import enum
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from planbound.source import lazy_pattern
from planbound.workspace.entries import (
    Changed,
    Entries,
    Entry,
    EntryType,
    differing,
    digest_of,
    path_text,
)

__all__ = [
    "CACHES",
    "CACHE_TAG",
    "SUMMARISED",
    "ChangeKind",
    "Changed",
    "Entry",
    "EntryType",
    "Manifest",
    "ScanRules",
    "TreeChange",
    "changes",
    "digest_without",
    "is_housekeeping",
    "manifest_of",
    "path_text",
    "related",
    "with_changes",
]


class Manifest(NamedTuple):
    """A whole tree, without its root."""

    entries: Mapping[bytes, Entry]
    """By path, seen from the root, `/` between names, in the order of the bytes."""
    digest: str
    """SHA-256 over all entries, as 64 hex digits."""
    truncated: str | None = None
    """Why the tree was not read to its end, where it was not: then it proves nothing."""
    tagged: frozenset[bytes] = frozenset()
    """Directories that were left out because they say that they are caches (CACHEDIR.TAG)."""
    left_out: frozenset[bytes] = frozenset()
    """Everything that was left out as a cache; known only to who has just read the tree."""
    held: Mapping[bytes, Mapping[bytes, bytes]] = {}
    """By summarised folder what its files look like; known only to who has just read the tree."""
    looks: str | None = None
    """A digest of what else programs can ask of the files: times, owners, links. It is known only
    to who has just read the tree with what is known of its files."""

    def files(self) -> Sequence[str]:
        """Return the paths of the regular files; the same of trees with the same paths."""
        return _of(self.entries).files

    def folders(self) -> frozenset[bytes]:
        """Return the paths of the directories that were read file by file."""
        return _of(self.entries).folders

    @property
    def has_tags(self) -> bool:
        """Say whether a folder says that it is a cache: then it depends on the rules what is read.

        Whoever reads the tree by rules with other `not_caches` finds the same where none does.
        """
        tags = (folder + b"/" + CACHE_TAG for folder in self.folders())
        return bool(self.tagged) or any(tag in self.entries for tag in tags)

    def others(self) -> tuple[tuple[bytes, Entry], ...]:
        """Return what is neither a regular file nor a directory."""
        return tuple((path, self.entries[path]) for path in _of(self.entries).others)

    def named(self, asks: Callable[[bytes], bool]) -> tuple[bytes, ...]:
        """Return the paths of which a function says so; it says always the same of a path."""
        return _of(self.entries).named(asks)

    def entry(self, path: str) -> Entry | None:
        """Return the entry of a regular file."""
        entry = self.entries.get(path.encode("utf-8", "surrogateescape"))
        return entry if entry is not None and entry.type is EntryType.FILE else None


def _of(entries: Mapping[bytes, Entry]) -> Entries:
    return entries if isinstance(entries, Entries) else Entries(entries)


CACHE_TAG = b"CACHEDIR.TAG"
"""The file by which a folder says that it is a cache."""
SUMMARISED = frozenset({b".git", b".venv", b"venv", b"node_modules"})
CACHES = frozenset(
    b"__pycache__ .mypy_cache .ruff_cache .hypothesis .import_linter_cache .nyc_output .tox .nox "
    b".gradle "
    b".pytest_cache .jest-cache".split()  # of `RUNNERS`, which a look at a tree does without
)
"""Directories that are caches wherever they are."""


class ScanRules(NamedTuple):
    """Which directories are not read file by file, and how much is read at most."""

    summarised: frozenset[bytes] = SUMMARISED
    """Names of directories that become one entry; a venv only where it has a `pyvenv.cfg`."""
    summarised_paths: tuple[bytes, ...] = ()
    caches: frozenset[bytes] = CACHES
    """Names of directories that are no part of a manifest."""
    cache_paths: tuple[bytes, ...] = ()
    """Paths that are no part of a manifest, whatever is there."""
    not_caches: frozenset[bytes] = frozenset()
    """Directories that are read even where they say that they are caches."""
    without_own: bool = False
    """Whether the harness's own files are left unread, and out of the manifest."""
    max_entries: int = 2_000_000
    max_bytes: int = 200 * 10**9
    """Of all contents together, as far as they are read."""
    max_path_bytes: int = 256 * 2**20
    """Of all paths together: what a manifest needs in memory."""
    max_depth: int = 10_000


def manifest_of(
    entries: Mapping[bytes, Entry],
    *,
    truncated: str | None = None,
    tagged: Iterable[bytes] = (),
    left_out: Iterable[bytes] = (),
    held: Mapping[bytes, Mapping[bytes, bytes]] | None = None,
) -> Manifest:
    """Return the manifest with these entries, in whatever order they were found."""
    paths = sorted(entries)
    ordered = Entries(zip(paths, map(entries.__getitem__, paths), strict=True))
    return Manifest(
        entries=ordered,
        digest=digest_of(ordered, truncated),
        truncated=truncated,
        tagged=frozenset(tagged),
        left_out=frozenset(left_out),
        held=held or {},
    )


def with_changes(manifest: Manifest, changed: Changed) -> Manifest:
    """Return a manifest in which something else is at some paths; the same where nothing is."""
    entries = manifest.entries
    before = entries if isinstance(entries, Entries) else Entries(entries)
    after = before.with_changes(changed)
    if after is before:
        return manifest
    return manifest._replace(entries=after, digest=after.digest(manifest.truncated), looks=None)


def related(manifest: Manifest, other: Manifest) -> Manifest:
    """Return the same manifest as if it were made from another one that it resembles.

    They share what is the same in both, and are compared by the rest.
    """
    mine, given = manifest.entries, other.entries
    if not isinstance(given, Entries) or differing(mine, given) is not None:
        return manifest
    paths = [path for path, entry in given.items() if mine.get(path) != entry]
    paths += mine.keys() - given.keys()
    if 2 * len(paths) > len(given):
        return manifest
    changed = {path: mine.get(path) for path in paths}
    return manifest._replace(entries=given.with_changes(changed))


def digest_without(manifest: Manifest, names: Collection[str]) -> str:
    """Return the digest that a tree would have without some files."""
    paths = {name.encode("utf-8", "surrogateescape") for name in names}
    if not any(path in manifest.entries for path in paths):
        return manifest.digest
    rest = {path: entry for path, entry in manifest.entries.items() if path not in paths}
    return digest_of(rest, manifest.truncated)


# -- changes -------------------------------------------------------------------------------------


class ChangeKind(enum.Enum):
    """How an entry differs from what it was."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class TreeChange(NamedTuple):
    """One entry that is not as it was."""

    path: str
    """With surrogate escapes where the bytes are not UTF-8."""
    kind: ChangeKind
    before: Entry | None
    after: Entry | None


def changes(before: Manifest, after: Manifest) -> tuple[TreeChange, ...]:
    """Return what differs between two trees, by path.

    A directory whose only difference is what is in it is no change, nor is git's housekeeping.
    """
    old, new = before.entries, after.entries
    paths = differing(old, new)
    if paths is None:
        get = old.get
        # Most often it is the same object: that is seen without looking into it.
        paths = [path for path, entry in new.items() if get(path) is not entry]
        paths += old.keys() - new.keys()
    found = [
        TreeChange(path_text(path), _change(was, now), was, now)
        for path in paths
        if (was := old.get(path)) != (now := new.get(path)) and not is_housekeeping(path)
    ]
    return tuple(sorted(found, key=_path))


def _change(was: Entry | None, now: Entry | None) -> ChangeKind:
    if was is None:
        return ChangeKind.ADDED
    return ChangeKind.CHANGED if now is not None else ChangeKind.REMOVED


# What git rewrites by itself, in the background too, beside what it makes programs run by: `gc`,
# `repack` and `maintenance` write the first, `pack-refs` the second, `stash` the third.
_HOUSEKEEPING = lazy_pattern(
    r"(?:.*/)?\.git/(?:modules/.+/|worktrees/[^/]+/)?"
    r"(?:info/(?:refs|rev-cache)(?:_[^/]{0,20})?|packed-refs\.new|index\.stash\.[0-9]+)",
    re.DOTALL,
)


def is_housekeeping(path: bytes) -> bool:
    """Say whether git rewrites a file of its folder by itself, so that a change of it is none."""
    return b".git/" in path and _HOUSEKEEPING.fullmatch(path_text(path)) is not None


def _path(change: TreeChange) -> str:
    return change.path
