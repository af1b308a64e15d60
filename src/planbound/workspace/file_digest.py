"""The SHA-256 of an open file; of what is mostly holes, a digest that does not read the holes."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from typing import TypeAlias

Spend: TypeAlias = Callable[[int], None]
"""Told how many bytes come next; raises where that is too many."""

SMALL = 1 << 20
"""What is read at once."""
HOLES = 64 << 20
"""A file with holes of so many bytes has a digest of its own kind."""
BLOCK = 1 << 16
_ZEROS = bytes(BLOCK)
_SPARSE = b"planbound: the blocks of a sparse file that are not all zero\n"


def file_digest(descriptor: int, found: os.stat_result, spend: Spend) -> tuple[int, bytes]:
    """Return how many bytes a regular file has, and their digest."""
    size = found.st_size
    if size <= SMALL:
        spend(size)
        data = os.read(descriptor, size + 1)
        if len(data) == size:  # fewer than asked for: that was the end
            return size, hashlib.sha256(data).digest()
        return _read_on(descriptor, data, spend)
    if size - found.st_blocks * 512 >= HOLES and _has_holes(descriptor, size, spend):
        return size, _sparse(descriptor, size, spend)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return _read_on(descriptor, b"", spend)


def _read_on(descriptor: int, data: bytes, spend: Spend) -> tuple[int, bytes]:
    """Read to the end, whatever size the file said it has."""
    digest = hashlib.sha256(data)
    size = len(data)
    buffer = memoryview(bytearray(SMALL))
    while count := os.readv(descriptor, [buffer]):
        spend(count)
        digest.update(buffer[:count])
        size += count
    return size, digest.digest()


def _extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield where data begins and ends."""
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return  # nothing but a hole is left
        end = min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
        if start >= size or end <= start:  # it shrinks while it is read
            return
        yield start, end


def _has_holes(descriptor: int, size: int, spend: Spend) -> bool:
    holes, before = 0, 0
    for start, end in _extents(descriptor, size):
        spend(0)  # there may be millions: the time counts
        holes += start - before
        before = end
        if holes >= HOLES:
            return True
    return holes + size - before >= HOLES


def _sparse(descriptor: int, size: int, spend: Spend) -> bytes:
    """Return the digest of all blocks that are not zero: where holes are makes no difference."""
    digest = hashlib.sha256(_SPARSE + size.to_bytes(8, "big"))
    at = 0
    for start, end in _extents(descriptor, size):
        at = max(at, start - start % BLOCK)
        while at < end:
            data = os.pread(descriptor, min(BLOCK, size - at), at)
            spend(len(data))
            if data != _ZEROS[: len(data)]:
                digest.update(at.to_bytes(8, "big") + data)
            at += BLOCK
    return digest.digest()
