"""Trees of hashes as in RFC 6962: what a journal held, in one hash, and proofs about it.

A leaf is the hash of an event, 32 bytes, as the journal's own chain has it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

# -- reckoning ------------------------------------------------------------------------------------


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf: of nothing that could be taken for a node."""
    return hashlib.sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of two subtrees."""
    return hashlib.sha256(b"\1" + left + right).digest()


class MerkleTree:
    """All levels of a tree: from the leaves up, each with a hash for every whole subtree."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        sha256 = hashlib.sha256
        level = [sha256(b"\0" + leaf).digest() for leaf in leaves]
        self.size = len(level)
        self._levels = [level]
        while len(level) > 1:
            # A last one without a partner waits: it belongs to no whole subtree of this size.
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [sha256(b"\1" + left + right).digest() for left, right in pairs]
            self._levels.append(level)

    def root(self, size: int | None = None) -> bytes:
        """Return the hash of the first `size` leaves."""
        return self._hash(0, self.size if size is None else size)

    def _hash(self, start: int, end: int) -> bytes:
        """Return the hash of a range that begins at a multiple of its size."""
        count = end - start
        if count == 0:
            return hashlib.sha256().digest()
        level = count.bit_length() - 1
        if count == 1 << level:
            return self._levels[level][start >> level]
        middle = start + (1 << level)
        return node_hash(self._hash(start, middle), self._hash(middle, end))

    def path(self, index: int, size: int | None = None) -> list[bytes]:
        """Return the audit path of a leaf, from the leaf up."""
        start, end = 0, self.size if size is None else size
        found: list[bytes] = []
        while end - start > 1:
            middle = start + _half(end - start)
            if index < middle:
                found.append(self._hash(middle, end))
                end = middle
            else:
                found.append(self._hash(start, middle))
                start = middle
        return found[::-1]

    def consistency(self, earlier: int) -> list[bytes]:
        """Return the proof that the first `earlier` leaves are still what they were."""
        if not 0 < earlier < self.size:
            return []
        start, end, whole = 0, self.size, True
        found: list[bytes] = []
        while earlier != end - start:
            half = _half(end - start)
            if earlier <= half:
                found.append(self._hash(start + half, end))
                end = start + half
            else:
                found.append(self._hash(start, start + half))
                start, earlier, whole = start + half, earlier - half, False
        if not whole:
            found.append(self._hash(start, end))
        return found[::-1]


def _half(count: int) -> int:
    """Return the largest power of two below a count of at least two."""
    return 1 << ((count - 1).bit_length() - 1)


# -- checking: RFC 9162, sections 2.1.3.2 and 2.1.4.2 ---------------------------------------------


def root_by_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root that an audit path leads to; None where there can be no such path."""
    if not 0 <= index < size:
        return None
    first, last, found = index, size - 1, leaf_hash(leaf)
    for node in path:
        if last == 0:
            return None
        if first & 1 or first == last:
            found = node_hash(node, found)
            while first and not first & 1:
                first, last = first >> 1, last >> 1
        else:
            found = node_hash(found, node)
        first, last = first >> 1, last >> 1
    return found if last == 0 else None


def is_consistent(
    earlier: tuple[int, bytes], later: tuple[int, bytes], proof: Sequence[bytes]
) -> bool:
    """Say whether a proof shows that a tree is the beginning of another one: size and root each."""
    (first_size, first_root), (second_size, second_root) = earlier, later
    if not 0 < first_size <= second_size:
        return False
    if first_size == second_size:
        return not proof and first_root == second_root
    nodes = list(proof)
    if first_size & (first_size - 1) == 0:
        nodes.insert(0, first_root)
    if not nodes:
        return False
    first, last = first_size - 1, second_size - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    old = new = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if first & 1 or first == last:
            old, new = node_hash(node, old), node_hash(node, new)
            while first and not first & 1:
                first, last = first >> 1, last >> 1
        else:
            new = node_hash(new, node)
        first, last = first >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


# -- the text of a checkpoint, as in C2SP's tlog-checkpoint ----------------------------------------


ORIGIN = "planbound.dev/journal/"


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """Return a checkpoint without its own signature: the receipt around it is signed."""
    return f"{origin}\n{size}\n{base64.b64encode(root).decode('ascii')}\n"


def read_checkpoint(text: str) -> tuple[str, int, bytes]:
    """Return origin, size and root; raise ValueError where a text is no checkpoint."""
    lines = text.split("\n")
    if len(lines) != 4 or lines[3] or not lines[0]:
        raise ValueError("a checkpoint has three lines: origin, size, root")
    if not (lines[1].isascii() and lines[1].isdigit()) or str(int(lines[1])) != lines[1]:
        raise ValueError("the size of a checkpoint is a number")
    root = base64.b64decode(lines[2], validate=True)
    if len(root) != 32 or base64.b64encode(root).decode("ascii") != lines[2]:
        raise ValueError("the root of a checkpoint is the base64 of 32 bytes")
    return lines[0], int(lines[1]), root
