"""What a tree holds, as a value: every entry with its type, mode and content."""

from __future__ import annotations

import enum
import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from planbound.source.pattern import lazy_pattern


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

    def files(self) -> list[str]:
        """Return the paths of the regular files."""
        found = self.entries.items()
        return [path_text(path) for path, entry in found if entry.type is EntryType.FILE]

    def entry(self, path: str) -> Entry | None:
        """Return the entry of a regular file."""
        entry = self.entries.get(path.encode("utf-8", "surrogateescape"))
        return entry if entry is not None and entry.type is EntryType.FILE else None


SUMMARISED = frozenset({b".git", b".venv", b"venv", b"node_modules"})
CACHES = frozenset(
    b"__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache "
    b".nyc_output .tox .nox .gradle .jest-cache".split()
)


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
) -> Manifest:
    """Return the manifest with these entries, in whatever order they were found."""
    ordered = {path: entries[path] for path in sorted(entries)}
    return Manifest(
        entries=ordered,
        digest=_digest(ordered, truncated),
        truncated=truncated,
        tagged=frozenset(tagged),
        left_out=frozenset(left_out),
    )


def _digest(entries: Mapping[bytes, Entry], truncated: str | None) -> str:
    digest = hashlib.sha256()
    pack = _HEAD.pack
    for path, (kind, mode, _, content) in entries.items():
        if kind is EntryType.SUMMARY and (path == b".git" or path.endswith(b"/.git")):
            continue  # looking at a repository with git is enough to change it
        head = pack(_LETTERS[kind], mode, len(path), len(content))
        digest.update(b"".join((head, path, content)))
    if truncated is not None:  # half a tree is never equal to a whole one
        digest.update(b"truncated " + truncated.encode())
    return digest.hexdigest()


# The type's letter, the mode, and the lengths of path and content.
_HEAD = struct.Struct(">cHII")
_LETTERS = {kind: kind.value.encode() for kind in EntryType}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}


# -- changes -------------------------------------------------------------------------------------


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

    A directory whose only difference is what is in it is no change, nor is git's housekeeping.
    """
    found: list[Change] = []
    old, new = before.entries, after.entries
    for path, entry in new.items():
        was = old.get(path)
        if was != entry and not _is_housekeeping(path):
            kind = ChangeKind.ADDED if was is None else ChangeKind.CHANGED
            found.append(Change(path_text(path), kind, was, entry))
    found.extend(
        Change(path_text(path), ChangeKind.REMOVED, entry, None)
        for path, entry in old.items()
        if path not in new and not _is_housekeeping(path)
    )
    return tuple(sorted(found, key=_path))


# What git rewrites by itself, in the background too, beside what it makes programs run by: `gc`,
# `repack` and `maintenance` write the first, `pack-refs` the second, `stash` the third.
_HOUSEKEEPING = lazy_pattern(
    r"(?:.*/)?\.git/(?:modules/.+/|worktrees/[^/]+/)?"
    r"(?:info/(?:refs|rev-cache)(?:_[^/]{0,20})?|packed-refs\.new|index\.stash\.[0-9]+)",
    re.DOTALL,
)


def _is_housekeeping(path: bytes) -> bool:
    return b".git/" in path and _HOUSEKEEPING.fullmatch(path_text(path)) is not None


def _path(change: Change) -> str:
    return change.path


def path_text(path: bytes) -> str:
    """Return a path as text; bytes that are not UTF-8 are escaped."""
    return path.decode("utf-8", "surrogateescape")


# -- as bytes ------------------------------------------------------------------------------------
# "pbmf", the version, the SHA-256 of what follows; then the length of what is compressed, and that.

_MAGIC = b"pbmf\x01"
_SIZE = struct.Struct(">Q")
_START = len(_MAGIC) + 32


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as bytes, the same for the same manifest."""
    parts = [bytes.fromhex(manifest.digest)]
    parts.extend(_texts([] if manifest.truncated is None else [manifest.truncated.encode()]))
    parts.extend(_texts(sorted(manifest.tagged)))
    parts.append(_SIZE.pack(len(manifest.entries)))
    for path, (kind, mode, size, content) in manifest.entries.items():
        head = _HEAD.pack(_LETTERS[kind], mode, len(path), len(content))
        parts.extend((head, _SIZE.pack(size), path, content))
    plain = b"".join(parts)
    body = _SIZE.pack(len(plain)) + zlib.compress(plain, 1)
    return _MAGIC + hashlib.sha256(body).digest() + body


def decode(data: bytes) -> Manifest:
    """Return the manifest; raise ValueError where a single bit is not as it was written."""
    if not data.startswith(_MAGIC):
        raise ValueError("this is no manifest of a known version")
    body = data[_START:]
    if hashlib.sha256(body).digest() != data[len(_MAGIC) : _START]:
        raise ValueError("the manifest is damaged")
    try:
        (size,) = _SIZE.unpack_from(body)
        plain = zlib.decompressobj().decompress(body[_SIZE.size :], size)
        manifest = _decoded(_Reader(plain))
    except (struct.error, zlib.error, KeyError, UnicodeDecodeError) as error:
        raise ValueError(f"the manifest is damaged: {error}") from error
    if _digest(manifest.entries, manifest.truncated) != manifest.digest:
        raise ValueError("the manifest is damaged: its entries do not give its digest")
    return manifest


def _decoded(reader: _Reader) -> Manifest:
    digest = reader.take(32).hex()
    truncated = [text.decode() for text in reader.texts()]
    tagged = frozenset(reader.texts())
    entries: dict[bytes, Entry] = {}
    for _ in range(reader.number()):
        letter, mode, path_length, content_length = _HEAD.unpack(reader.take(_HEAD.size))
        size = reader.number()
        path = reader.take(path_length)
        entries[path] = Entry(_KINDS[letter], mode, size, reader.take(content_length))
    if not reader.is_at_end():
        raise ValueError("the manifest is damaged: there is more than its entries")
    return Manifest(entries, digest, truncated[0] if truncated else None, tagged)


def _texts(texts: list[bytes]) -> Iterator[bytes]:
    yield _SIZE.pack(len(texts))
    for text in texts:
        yield _SIZE.pack(len(text))
        yield text


class _Reader:
    """Takes a text apart, piece by piece."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._data):
            raise ValueError("the manifest is damaged: it is cut off")
        piece = self._data[self._at : end]
        self._at = end
        return piece

    def number(self) -> int:
        (number,) = _SIZE.unpack(self.take(_SIZE.size))
        return int(number)

    def texts(self) -> list[bytes]:
        return [self.take(self.number()) for _ in range(self.number())]

    def is_at_end(self) -> bool:
        return self._at == len(self._data)
