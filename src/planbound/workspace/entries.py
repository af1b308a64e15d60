"""The entries of a tree: all of them, or those of another tree with what differs.

Entries never change. Those that were made from others remember in what they differ. So two trees
of one family are compared, hashed and asked by what differs, however many paths they have.
"""

from __future__ import annotations

import enum
import hashlib
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
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
    """FILE: its bytes; SUMMARY: how many entries are in it; otherwise 0."""
    content: bytes
    """FILE: the SHA-256; LINK: the target; SUMMARY: a digest; OTHER: its kind."""


Changed = Mapping[bytes, Entry | None]
"""By path what is there now; None: nothing any more."""

_PLAIN = frozenset({EntryType.FILE, EntryType.DIRECTORY})
_MOST_ANCESTORS = 500
_MOST_DIFFERING = 20_000


class Entries(dict[bytes, Entry]):
    """Entries in the order of their paths, which never change, and so remember what was asked."""

    older: tuple[tuple[object, tuple[bytes, ...]], ...] = ()
    """By whose changes these came to be, the last first: the mark of those before, and the paths
    in which the next differ from them."""

    @cached_property
    def mark(self) -> object:
        """What these are known by to entries that are made from them."""
        return object()

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The paths of regular files, as text."""
        files = EntryType.FILE
        return tuple([path_text(path) for path, entry in self.items() if entry[0] is files])

    @cached_property
    def folders(self) -> frozenset[bytes]:
        """The directories that were read file by file."""
        return frozenset([path for path, entry in self.items() if entry[0] is EntryType.DIRECTORY])

    @cached_property
    def others(self) -> tuple[bytes, ...]:
        """What is neither a regular file nor a directory."""
        return tuple([path for path, entry in self.items() if entry[0] not in _PLAIN])

    @cached_property
    def pieces(self) -> _Pieces:
        """What the digest is of, in pieces that entries with a few changes share."""
        return _pieces(list(self), self)

    @cached_property
    def _asked(self) -> dict[Callable[[bytes], bool], tuple[bytes, ...]]:
        return {}

    def named(self, asks: Callable[[bytes], bool]) -> tuple[bytes, ...]:
        """Return the paths of which a function says so, which is always the same one."""
        found = self._asked.get(asks)
        if found is None:
            found = self._asked[asks] = tuple([path for path in self if asks(path)])
        return found

    def with_changes(self, changed: Changed) -> Entries:
        """Return these with some changes; the very same where they are none."""
        real = {path: entry for path, entry in changed.items() if self.get(path) != entry}
        if not real:
            return self
        found, is_sorted = Entries(self), True
        for path, entry in real.items():
            if entry is None:
                del found[path]
            else:
                is_sorted = is_sorted and path in self
                found[path] = entry
        if not is_sorted:
            paths = sorted(found)
            found = Entries(zip(paths, map(found.__getitem__, paths), strict=True))
        found._take_over(self, real)
        return found

    def _take_over(self, before: Entries, changed: Changed) -> None:
        """Take over what entries were asked that differ in so much from these."""
        self.older = _shortened(((before.mark, tuple(changed)), *before.older))
        kinds = [(_kind(before.get(path)), _kind(entry)) for path, entry in changed.items()]
        if all(was is now for was, now in kinds):
            known = vars(before)
            vars(self).update({name: known[name] for name in _BY_KIND if name in known})
        elif "files" in vars(before):
            self.files = self._files_as(before)
        gone = {path for path, entry in changed.items() if entry is None}
        new = [path for path in changed if path not in gone and path not in before]
        for asks, found in list(before._asked.items()):
            kept = [path for path in found if path not in gone] if gone else found
            self._asked[asks] = tuple(sorted([*kept, *filter(asks, new)])) if new else tuple(kept)
        pieces = before.pieces.with_changes(changed, self)
        if pieces is not None:
            self.pieces = pieces

    def _files_as(self, before: Entries) -> tuple[str, ...]:
        """Return the paths of files; those that were there before are the same texts."""
        files = EntryType.FILE
        paths = (path for path, entry in before.items() if entry[0] is files)
        known = dict(zip(paths, before.files, strict=True))
        return tuple(
            [
                known.get(path) or path_text(path)
                for path, entry in self.items()
                if entry[0] is files
            ]
        )

    def digest(self, truncated: str | None) -> str:
        """Return the SHA-256 of all of them."""
        known = vars(self).get("pieces")
        if known is None:
            return digest_of(self, truncated)
        return _hashed(known.texts, truncated)


_BY_KIND = ("files", "folders", "others")


def _kind(entry: Entry | None) -> EntryType | None:
    return None if entry is None else entry.type


def _shortened(
    older: tuple[tuple[object, tuple[bytes, ...]], ...],
) -> tuple[tuple[object, tuple[bytes, ...]], ...]:
    """Return the nearest ancestors, so that in the end nobody remembers more than a tree has."""
    left = _MOST_DIFFERING
    for place, (_, paths) in enumerate(older[:_MOST_ANCESTORS]):
        left -= len(paths)
        if left < 0:
            return older[:place]
    return older[:_MOST_ANCESTORS]


def differing(
    before: Mapping[bytes, Entry], after: Mapping[bytes, Entry]
) -> Collection[bytes] | None:
    """Return in which paths two trees may differ, and in no others; None where nobody knows."""
    if before is after:
        return ()
    if not isinstance(before, Entries) or not isinstance(after, Entries):
        return None
    ancestors = {before.mark: 0}
    ancestors.update({mark: place for place, (mark, _) in enumerate(before.older, 1)})
    found: set[bytes] = set()
    for mark, paths in ((after.mark, ()), *after.older):
        found.update(paths)
        place = ancestors.get(mark)
        if place is not None:
            for _, more in before.older[:place]:
                found.update(more)
            return found
    return None


def path_text(path: bytes) -> str:
    """Return a path as text; bytes that are not UTF-8 are escaped."""
    return path.decode("utf-8", "surrogateescape")


# -- the digest: of the type's letter, the mode, the lengths of path and content, and of both ------


HEAD = struct.Struct(">cHII")
LETTERS = {kind: kind.value.encode() for kind in EntryType}
AT_ONCE = 1000


class _Pieces(NamedTuple):
    firsts: tuple[bytes, ...]
    """The first path of each."""
    texts: tuple[bytes, ...]

    def with_changes(self, changed: Changed, entries: Entries) -> _Pieces | None:
        """Return the pieces of entries with some changes; None where most would be others."""
        firsts, texts = self
        touched = sorted({max(0, bisect_right(firsts, path) - 1) for path in changed})
        if not firsts or len(touched) * 2 > len(firsts) + 1:
            return None
        paths, made = list(entries), list(texts)
        for place in touched:
            start = bisect_left(paths, firsts[place]) if place else 0
            is_last = place + 1 == len(firsts)
            end = len(paths) if is_last else bisect_left(paths, firsts[place + 1])
            if end - start > 2 * AT_ONCE:
                return None
            made[place] = _text((path, entries[path]) for path in paths[start:end])
        return _Pieces(firsts, tuple(made))


def _pieces(paths: list[bytes], entries: Mapping[bytes, Entry]) -> _Pieces:
    starts = range(0, len(paths), AT_ONCE)
    some = (paths[start : start + AT_ONCE] for start in starts)
    texts = [_text(zip(each, map(entries.__getitem__, each), strict=True)) for each in some]
    return _Pieces(tuple([paths[start] for start in starts]), tuple(texts))


def _text(entries: Iterable[tuple[bytes, Entry]]) -> bytes:
    pack, letters = HEAD.pack, LETTERS
    return b"".join(
        [
            pack(letters[kind], mode, len(path), len(content)) + path + content
            for path, (kind, mode, _, content) in entries
            # Looking at a repository with git is enough to change it.
            if kind is not EntryType.SUMMARY or not is_git(path)
        ]
    )


def digest_of(entries: Mapping[bytes, Entry], truncated: str | None) -> str:
    """Return the digest of entries that are in the order of their paths."""
    return _hashed(_texts(entries), truncated)


def _texts(entries: Mapping[bytes, Entry]) -> Iterator[bytes]:
    found = iter(entries.items())
    while some := list(islice(found, AT_ONCE)):
        yield _text(some)


def _hashed(texts: Iterable[bytes], truncated: str | None) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text)
    if truncated is not None:  # half a tree is never equal to a whole one
        digest.update(b"truncated " + truncated.encode())
    return digest.hexdigest()


def is_git(path: bytes) -> bool:
    """Say whether a path is git's folder."""
    return path == b".git" or path.endswith(b"/.git")
