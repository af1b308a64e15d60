"""What a tree holds, as a value: every entry with its type, mode and content."""

import enum
import hashlib
import re
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from planbound.source import lazy_pattern


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
    held: Mapping[bytes, Mapping[bytes, bytes]] = {}
    """By summarised folder what its files look like; known only to who has just read the tree."""
    looks: str | None = None
    """A digest of what else programs can ask of the files: times, owners, links. It is known only
    to who has just read the tree with what is known of its files."""

    def files(self) -> list[str]:
        """Return the paths of the regular files."""
        found = self.entries if isinstance(self.entries, _Entries) else _Entries(self.entries)
        return list(found.files)

    def folders(self) -> frozenset[bytes]:
        """Return the paths of the directories that were read file by file."""
        found = self.entries if isinstance(self.entries, _Entries) else _Entries(self.entries)
        return found.folders

    @property
    def has_tags(self) -> bool:
        """Say whether a folder says that it is a cache: then it depends on the rules what is read.

        Whoever reads the tree by rules with other `not_caches` finds the same where none does.
        """
        tags = (folder + b"/" + CACHE_TAG for folder in self.folders())
        return bool(self.tagged) or any(tag in self.entries for tag in tags)

    def others(self) -> tuple[tuple[bytes, Entry], ...]:
        """Return what is neither a regular file nor a directory."""
        found = self.entries if isinstance(self.entries, _Entries) else _Entries(self.entries)
        return tuple((path, self.entries[path]) for path in found.others)

    def entry(self, path: str) -> Entry | None:
        """Return the entry of a regular file."""
        entry = self.entries.get(path.encode("utf-8", "surrogateescape"))
        return entry if entry is not None and entry.type is EntryType.FILE else None


class _Entries(dict[bytes, Entry]):
    """Entries that never change, and so remember what they were asked."""

    @cached_property
    def files(self) -> tuple[str, ...]:
        return tuple(
            [path_text(path) for path, entry in self.items() if entry[0] is EntryType.FILE]
        )

    @cached_property
    def folders(self) -> frozenset[bytes]:
        return frozenset([path for path, entry in self.items() if entry[0] is EntryType.DIRECTORY])

    @cached_property
    def others(self) -> tuple[bytes, ...]:
        plain = {EntryType.FILE, EntryType.DIRECTORY}
        return tuple([path for path, entry in self.items() if entry[0] not in plain])

    def share(self, before: "_Entries") -> None:
        """Take over what entries with the same paths were asked, if it is true of these, too."""
        kinds = [entry[0] for entry in self.values()]
        if kinds == [entry[0] for entry in before.values()]:
            vars(self).update(vars(before))


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
    last: Manifest | None = None,
) -> Manifest:
    """Return the manifest with these entries, in whatever order they were found.

    Where `last`, which was made before, has most of them, less is done.
    """
    ordered = _ordered(entries, {} if last is None else last.entries)
    known = last is not None and ordered is last.entries and truncated == last.truncated
    return Manifest(
        entries=ordered,
        digest=last.digest if last is not None and known else _digest(ordered, truncated),
        truncated=truncated,
        tagged=frozenset(tagged),
        left_out=frozenset(left_out),
        held=held or {},
    )


def _ordered(
    entries: Mapping[bytes, Entry], before: Mapping[bytes, Entry]
) -> Mapping[bytes, Entry]:
    """Return entries in the order of their paths; `before` is, and is returned if they are it."""
    if before and entries == before:
        return before
    kept = [path for path in before if path in entries]
    added = entries.keys() - before.keys() if kept else entries
    kept += sorted(added)
    if kept and len(added) < len(kept):
        kept.sort()  # of two parts that are sorted
    found = _Entries(zip(kept, map(entries.__getitem__, kept), strict=True))
    if isinstance(before, _Entries) and len(kept) == len(before) and not added:
        found.share(before)
    return found


def _digest(entries: Mapping[bytes, Entry], truncated: str | None) -> str:
    digest = hashlib.sha256()
    pack, letters = _HEAD.pack, _LETTERS
    found = iter(entries.items())
    while some := list(islice(found, _AT_ONCE)):
        digest.update(
            b"".join(
                [
                    pack(letters[kind], mode, len(path), len(content)) + path + content
                    for path, (kind, mode, _, content) in some
                    # Looking at a repository with git is enough to change it.
                    if kind is not EntryType.SUMMARY or not _is_git(path)
                ]
            )
        )
    if truncated is not None:  # half a tree is never equal to a whole one
        digest.update(b"truncated " + truncated.encode())
    return digest.hexdigest()


def digest_without(manifest: Manifest, names: Collection[str]) -> str:
    """Return the digest that a tree would have without some files."""
    paths = {name.encode("utf-8", "surrogateescape") for name in names}
    if not any(path in manifest.entries for path in paths):
        return manifest.digest
    rest = {path: entry for path, entry in manifest.entries.items() if path not in paths}
    return _digest(rest, manifest.truncated)


def _is_git(path: bytes) -> bool:
    return path == b".git" or path.endswith(b"/.git")


_AT_ONCE = 1000
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
    found: list[TreeChange] = []
    old, new = before.entries, after.entries
    if old is new:
        return ()
    get = old.get
    # Most often it is the same object: that is seen without looking into it.
    for path, entry in [item for item in new.items() if get(item[0]) is not item[1]]:
        was = get(path)
        if was != entry and not is_housekeeping(path):
            kind = ChangeKind.ADDED if was is None else ChangeKind.CHANGED
            found.append(TreeChange(path_text(path), kind, was, entry))
    found.extend(
        TreeChange(path_text(path), ChangeKind.REMOVED, old[path], None)
        for path in old.keys() - new.keys()
        if not is_housekeeping(path)
    )
    return tuple(sorted(found, key=_path))


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
    packed, size = bytearray(_START + _SIZE.size), 0
    compress = zlib.compressobj(1)
    for some in _pieces(manifest):  # never all of them at once: that takes memory
        size += len(some)
        packed += compress.compress(some)
    packed += compress.flush()
    _SIZE.pack_into(packed, _START, size)
    packed[:_START] = _MAGIC + hashlib.sha256(memoryview(packed)[_START:]).digest()
    return bytes(packed)


def _pieces(manifest: Manifest) -> Iterator[bytes]:
    parts = [bytes.fromhex(manifest.digest)]
    parts.extend(_texts([] if manifest.truncated is None else [manifest.truncated.encode()]))
    parts.extend(_texts(sorted(manifest.tagged)))
    parts.append(_SIZE.pack(len(manifest.entries)))
    yield b"".join(parts)
    found = iter(manifest.entries.items())
    pack, number, letters = _HEAD.pack, _SIZE.pack, _LETTERS
    while some := list(islice(found, _AT_ONCE)):
        yield b"".join(
            [
                pack(letters[kind], mode, len(path), len(content)) + number(size) + path + content
                for path, (kind, mode, size, content) in some
            ]
        )


def decode(data: bytes) -> Manifest:
    """Return the manifest; raise ValueError where a single bit is not as it was written."""
    if not data.startswith(_MAGIC):
        raise ValueError("this is no manifest of a known version")
    body = memoryview(data)[_START:]
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


def _decoded(reader: "_Reader") -> Manifest:
    digest = reader.take(32).hex()
    truncated = [text.decode() for text in reader.texts()]
    tagged = frozenset(reader.texts())
    entries = _Entries()
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
