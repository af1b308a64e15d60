"""What a tree holds, as a value: every entry with its type, mode and content."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple


class EntryType(enum.Enum):
    """What is at a path; the value is what the digest takes."""

    FILE = "f"
    DIRECTORY = "d"
    LINK = "l"
    SUMMARY = "s"
    """A directory that is summarised as one entry."""
    OTHER = "o"
    """A FIFO, device or socket: never opened."""
    UNREADABLE = "u"
    """What could not be read, with the reason in `content`."""


class Entry(NamedTuple):
    """What is at one path."""

    type: EntryType
    mode: int
    """The permission bits."""
    size: int
    content: bytes
    """FILE: the SHA-256; LINK: the target; SUMMARY: a digest; OTHER: its kind."""


class Manifest(NamedTuple):
    """A whole tree, without its root."""

    entries: Mapping[bytes, Entry]
    """By path, seen from the root, `/` between names, in the order of the bytes."""
    digest: str
    """SHA-256 over all entries, as 64 hex digits."""
    truncated: str | None = None
    """Why the tree was not read to its end, where it was not: then it proves nothing."""


class ChangeKind(enum.Enum):
    """How an entry differs from what it was."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class Change(NamedTuple):
    """One entry that is not as it was."""

    path: str
    """With surrogate escapes where the bytes are not UTF-8."""
    kind: ChangeKind
    before: Entry | None
    after: Entry | None


def changes(before: Manifest, after: Manifest) -> tuple[Change, ...]:
    """Return what differs between two trees, by path.

    A directory whose only difference is what is in it is no change.
    """
    found: list[Change] = []
    old, new = before.entries, after.entries
    for path, entry in new.items():
        was = old.get(path)
        if was != entry:
            kind = ChangeKind.ADDED if was is None else ChangeKind.CHANGED
            found.append(Change(_text(path), kind, was, entry))
    found.extend(
        Change(_text(path), ChangeKind.REMOVED, entry, None)
        for path, entry in old.items()
        if path not in new
    )
    return tuple(sorted(found, key=_path))


def _path(change: Change) -> str:
    return change.path


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
