"""Trees of hashes against RFC 6962, and its definitions written out plainly."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest

from planbound.receipts.merkle import (
    MerkleTree,
    checkpoint_text,
    is_consistent,
    leaf_hash,
    node_hash,
    read_checkpoint,
    root_by_path,
)

pytestmark = pytest.mark.requirement("receipt.journal")

# The inputs and roots that implementations of certificate transparency share.
LEAVES = [
    bytes.fromhex(each)
    for each in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)


def plain_root(leaves: Sequence[bytes]) -> bytes:
    """Return the hash of a list of leaves, as section 2.1 of RFC 6962 defines it."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaf_hash(leaves[0])
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return node_hash(plain_root(leaves[:half]), plain_root(leaves[half:]))


def test_the_roots_are_those_of_certificate_transparency() -> None:
    tree = MerkleTree(LEAVES)
    assert tuple(tree.root(size).hex() for size in range(1, 9)) == ROOTS
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert MerkleTree([]).root().hex() == empty


def test_an_audit_path_is_the_one_of_the_rfc() -> None:
    path = [node.hex() for node in MerkleTree(LEAVES).path(0)]
    assert path == [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ]


def test_a_consistency_proof_is_the_one_of_the_rfc() -> None:
    proof = [node.hex() for node in MerkleTree(LEAVES).consistency(6)]
    assert proof == [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ]


def test_every_leaf_of_every_size_is_shown_to_be_there_and_no_other() -> None:
    leaves = [hashlib.sha256(bytes([number])).digest() for number in range(21)]
    for size in range(1, 22):
        tree = MerkleTree(leaves[:size])
        root = plain_root(leaves[:size])
        assert tree.root() == root
        for index in range(size):
            path = tree.path(index)
            assert root_by_path(leaves[index], index, size, path) == root
            assert root_by_path(leaves[index - 1], index, size, path) != root or size == 1
            assert root_by_path(leaves[index], index, size, [*path, root]) != root
            assert root_by_path(leaves[index], size, size, path) is None
            if path:
                assert root_by_path(leaves[index], index, size, path[:-1]) != root


def test_every_beginning_is_shown_to_be_one_and_nothing_else() -> None:
    leaves = [hashlib.sha256(bytes([number])).digest() for number in range(18)]
    for size in range(1, 19):
        tree = MerkleTree(leaves[:size])
        now = (size, tree.root())
        for before in range(1, size + 1):
            earlier, proof = (before, tree.root(before)), tree.consistency(before)
            assert is_consistent(earlier, now, proof)
            other = (before, hashlib.sha256(b"other").digest())
            assert not is_consistent(other, now, proof)
            assert not is_consistent(earlier, (size, other[1]), proof)
            assert not is_consistent(earlier, now, [*proof, now[1]])
            if proof:
                assert not is_consistent(earlier, now, proof[1:])
    assert not is_consistent((0, MerkleTree([]).root()), now, [])


def test_a_checkpoint_is_read_back_and_nothing_like_it() -> None:
    root = hashlib.sha256(b"root").digest()
    text = checkpoint_text("planbound.dev/journal/it", 7, root)
    assert read_checkpoint(text) == ("planbound.dev/journal/it", 7, root)
    for wrong in (
        text[:-1],
        text + "\n",
        text.replace("\n7\n", "\n07\n"),
        text.replace("\n7\n", "\n-7\n"),
        text.replace("=\n", "\n"),
        "\n" + text.partition("\n")[2],
    ):
        with pytest.raises(ValueError, match=r"checkpoint|padding|base64"):
            read_checkpoint(wrong)
