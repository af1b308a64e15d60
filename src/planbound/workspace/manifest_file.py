"""A manifest as bytes: all of it, or what differs from another one that is kept in full."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from planbound.workspace.entries import AT_ONCE, HEAD, LETTERS, Entries, Entry, digest_of
from planbound.workspace.manifest import Changed, Manifest, with_changes

# The kind and its version, the SHA-256 of what follows; of what is kept in full then the length of
# what is compressed, and that; otherwise the SHA-256 of the other one, and what differs.

_FULL = b"pbmf\x01"
_CHANGES = b"pbmc\x01"
_SIZE = struct.Struct(">Q")
_KINDS = {letter: kind for kind, letter in LETTERS.items()}
_NOTHING = b"-"
_START = len(_FULL) + 32


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as bytes, the same for the same manifest."""
    packed, size = bytearray(_START + _SIZE.size), 0
    compress = zlib.compressobj(1)
    for some in _pieces(manifest):  # never all of them at once: that takes memory
        size += len(some)
        packed += compress.compress(some)
    packed += compress.flush()
    _SIZE.pack_into(packed, _START, size)
    packed[:_START] = _FULL + hashlib.sha256(memoryview(packed)[_START:]).digest()
    return bytes(packed)


def encode_changes(manifest: Manifest, base: bytes, changed: Changed) -> bytes:
    """Return in what a manifest differs from one that is kept in full by this SHA-256."""
    parts = [base, _facts(manifest), _SIZE.pack(len(changed)), _items(sorted(changed.items()))]
    body = b"".join(parts)
    return _CHANGES + hashlib.sha256(body).digest() + body


def base_of(data: bytes) -> bytes | None:
    """Return by what that is kept from which this differs; None: it is kept in full."""
    return data[_START : _START + 32] if data.startswith(_CHANGES) else None


def _facts(manifest: Manifest) -> bytes:
    parts = [bytes.fromhex(manifest.digest)]
    parts.extend(_texts([] if manifest.truncated is None else [manifest.truncated.encode()]))
    parts.extend(_texts(sorted(manifest.tagged)))
    return b"".join(parts)


def _pieces(manifest: Manifest) -> Iterator[bytes]:
    yield _facts(manifest) + _SIZE.pack(len(manifest.entries))
    found = iter(manifest.entries.items())
    while some := list(islice(found, AT_ONCE)):
        yield _items(some)


def _items(items: Iterable[tuple[bytes, Entry | None]]) -> bytes:
    pack, number, letters = HEAD.pack, _SIZE.pack, LETTERS
    return b"".join(
        [
            pack(_NOTHING, 0, len(path), 0) + number(0) + path
            if entry is None
            else pack(letters[entry[0]], entry[1], len(path), len(entry[3]))
            + number(entry[2])
            + path
            + entry[3]
            for path, entry in items
        ]
    )


def decode(
    data: bytes,
    kept: Callable[[bytes], bytes | None] = lambda _: None,
    like: Manifest | None = None,
) -> Manifest:
    """Return the manifest; raise ValueError where a single bit is not as it was written.

    `kept` returns the bytes of the one that it differs from, by their SHA-256. It shares with
    `like` what is the same in both.
    """
    if not data.startswith((_FULL, _CHANGES)):
        raise ValueError("this is no manifest of a known version")
    body = memoryview(data)[_START:]
    if hashlib.sha256(body).digest() != data[len(_FULL) : _START]:
        raise ValueError("the manifest is damaged")
    try:
        if data.startswith(_FULL):
            manifest = _in_full(body, like)
        else:
            manifest = _from_changes(body, kept, like)
    except (struct.error, zlib.error, KeyError, UnicodeDecodeError) as error:
        raise ValueError(f"the manifest is damaged: {error}") from error
    if digest_of(manifest.entries, manifest.truncated) != manifest.digest:
        raise ValueError("the manifest is damaged: its entries do not give its digest")
    return manifest


def _in_full(body: memoryview, like: Manifest | None) -> Manifest:
    (size,) = _SIZE.unpack_from(body)
    reader = _Reader(zlib.decompressobj().decompress(body[_SIZE.size :], size))
    manifest = reader.facts()
    if like is not None and isinstance(like.entries, Entries):
        entries = _made_from(like.entries, reader.items())
    else:
        entries = Entries((path, entry) for path, entry in reader.items() if entry is not None)
    reader.end()
    return manifest._replace(entries=entries)


def _made_from(like: Entries, items: Iterable[tuple[bytes, Entry | None]]) -> Entries:
    """Return entries as others with changes; both come in the order of their paths."""
    changed: dict[bytes, Entry | None] = {}
    known = iter(like.items())
    at = next(known, None)
    for path, entry in items:
        while at is not None and at[0] < path:
            changed[at[0]] = None
            at = next(known, None)
        if at is None or at[0] != path:
            changed[path] = entry
            continue
        if at[1] != entry:
            changed[path] = entry
        at = next(known, None)
    while at is not None:
        changed[at[0]] = None
        at = next(known, None)
    return like.with_changes(changed)


def _from_changes(
    body: memoryview, kept: Callable[[bytes], bytes | None], like: Manifest | None
) -> Manifest:
    reader = _Reader(bytes(body))
    data = kept(reader.take(32))
    if data is None or not data.startswith(_FULL):
        raise ValueError("the manifest from which it differs is not kept")
    base = decode(data, like=like)
    manifest = reader.facts()
    entries = with_changes(base, dict(reader.items())).entries
    reader.end()
    return manifest._replace(entries=entries)


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

    def facts(self) -> Manifest:
        """Take all but the entries."""
        digest = self.take(32).hex()
        truncated = [text.decode() for text in self._texts()]
        tagged = frozenset(self._texts())
        return Manifest({}, digest, truncated[0] if truncated else None, tagged)

    def items(self) -> Iterator[tuple[bytes, Entry | None]]:
        for _ in range(self._number()):
            letter, mode, path_length, content_length = HEAD.unpack(self.take(HEAD.size))
            size = self._number()
            path, content = self.take(path_length), self.take(content_length)
            is_gone = letter == _NOTHING
            yield path, None if is_gone else Entry(_KINDS[letter], mode, size, content)

    def end(self) -> None:
        if self._at != len(self._data):
            raise ValueError("the manifest is damaged: there is more than its entries")

    def _number(self) -> int:
        (number,) = _SIZE.unpack(self.take(_SIZE.size))
        return int(number)

    def _texts(self) -> list[bytes]:
        return [self.take(self._number()) for _ in range(self._number())]
