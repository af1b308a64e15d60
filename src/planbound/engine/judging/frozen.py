"""The tree before the work, and what its contracts said then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from planbound.engine.manifest import Entry, EntryType, Manifest, manifest_of


class Frozen(NamedTuple):
    """What a baseline remembers."""

    id: str
    manifest: Manifest
    plan: str
    """The digest of the plan."""
    configuration: str
    """The digest of the configuration that contracts run under."""
    verdicts: Mapping[str, str]
    """By the digest of the contract."""


def relocated(frozen: Frozen, now: Manifest) -> Frozen:
    """Return what was frozen in one worktree as it looks in another one of the repository.

    A linked worktree has a file where the main one has git's folder, and a checkout keeps of a
    file's mode only whether it can be run.
    """
    entries = {
        path: _checked_out(entry, now.entries.get(path))
        for path, entry in frozen.manifest.entries.items()
        if not _is_git(path)
    }
    entries |= {path: entry for path, entry in now.entries.items() if _is_git(path)}
    manifest = manifest_of(
        entries, truncated=frozen.manifest.truncated, tagged=frozen.manifest.tagged
    )
    return frozen._replace(manifest=manifest)


def _checked_out(entry: Entry, now: Entry | None) -> Entry:
    if now is None or now.type is not entry.type:
        return entry
    if entry.type is EntryType.DIRECTORY:
        return now
    same = now.content == entry.content and bool(now.mode & 0o111) == bool(entry.mode & 0o111)
    return now if same else entry


def _is_git(path: bytes) -> bool:
    return path == b".git" or path.startswith(b".git/")
