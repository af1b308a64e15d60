"""A tree that is made from another one with what differs is the one that is read from the start."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.doctor import gc
from planbound.workspace import entries as module
from planbound.workspace.entries import Changed, Entries, Entry, EntryType, differing
from planbound.workspace.manifest import (
    Manifest,
    changes,
    manifest_of,
    related,
    with_changes,
)
from planbound.workspace.manifest_file import base_of, decode, encode, encode_changes
from planbound.workspace.vault import Vault
from tests.examples import examples

pytestmark = pytest.mark.requirement("workspace.manifest")

NAMES = [b"a", b"a-b", b"a/b", b"a/b/c", b"a0", b".git", b"src/.git", b"src/x.py", b"\xff", b"z"]
ENTRIES = st.builds(
    Entry,
    st.sampled_from(list(EntryType)),
    st.sampled_from([0o644, 0o755]),
    st.just(3),
    st.sampled_from([b"1" * 32, b"2" * 32]),
)
CHANGES = st.dictionaries(st.sampled_from(NAMES), st.none() | ENTRIES, max_size=4)


def is_short(path: bytes) -> bool:
    return len(path) < 3


def whole(manifest: Manifest) -> Manifest:
    """Return the same as one that was never made from another."""
    return manifest_of(dict(reversed(list(manifest.entries.items()))), truncated=manifest.truncated)


def asked(manifest: Manifest) -> tuple[object, ...]:
    return manifest.files(), manifest.folders(), manifest.others(), manifest.named(is_short)


@examples(200)
@given(
    first=st.dictionaries(st.sampled_from(NAMES), ENTRIES),
    edits=st.lists(CHANGES, max_size=6),
    asks=st.booleans(),
    at_once=st.sampled_from([1, 2, 1000]),
)
def test_whatever_is_changed_one_after_the_other_all_is_as_if_it_were_read_anew(
    first: dict[bytes, Entry], edits: list[Changed], *, asks: bool, at_once: int
) -> None:
    patch = pytest.MonkeyPatch()
    patch.setattr(module, "AT_ONCE", at_once)
    try:
        made = [manifest_of(first)]
        for edit in edits:
            if asks:
                asked(made[-1])  # what is remembered is carried on
            made.append(with_changes(made[-1], edit))
    finally:
        patch.undo()
    for manifest in made:
        fresh = whole(manifest)
        assert list(manifest.entries.items()) == list(fresh.entries.items())
        assert manifest.digest == fresh.digest
        assert asked(manifest) == asked(fresh)
    for one in made:
        for other in made:
            assert changes(one, other) == changes(whole(one), whole(other))
            assert differing(one.entries, other.entries) is not None
    for one, other in pairwise(made):
        differ = one.digest != other.digest or any(".git" in c.path for c in changes(one, other))
        assert differ == (one.entries is not other.entries)


@examples(100)
@given(st.dictionaries(st.sampled_from(NAMES), ENTRIES), CHANGES)
def test_what_is_related_to_another_tree_stays_what_it_is(
    first: dict[bytes, Entry], edit: Changed
) -> None:
    one = manifest_of(first)
    other = whole(with_changes(one, edit))
    read = decode(encode(other), like=one)
    assert read == other
    assert list(read.entries) == list(other.entries)
    assert differing(one.entries, read.entries) is not None
    found = related(other, one)
    assert found == other
    assert list(found.entries) == list(other.entries)
    assert changes(one, found) == changes(one, other)
    shared = {path for path, each in one.entries.items() if other.entries.get(path) == each}
    if differing(one.entries, found.entries) is not None:
        assert all(found.entries[path] is one.entries[path] for path in shared)
    else:
        assert 2 * len(changes(one, other)) > len(one.entries) or not one.entries


def test_trees_that_are_not_of_one_family_are_compared_by_all_of_their_paths() -> None:
    one, other = tree(3), tree(3)
    assert differing(one.entries, other.entries) is None
    assert changes(one, with_changes(other, {b"file1": None}))[0].path == "file1"


def test_so_many_changes_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_ANCESTORS", 3)
    made = [tree(5)]
    for number in range(9):
        made.append(with_changes(made[-1], {b"file1": entry(number)}))
    assert differing(made[-3].entries, made[-1].entries) == {b"file1"}
    assert differing(made[0].entries, made[-1].entries) is None
    assert [each.path for each in changes(made[0], made[-1])] == ["file1"]
    monkeypatch.setattr(module, "_MOST_DIFFERING", 0)
    last = with_changes(made[-1], {b"file2": None})
    assert isinstance(last.entries, Entries)
    assert not last.entries.older


# -- what is kept of it --------------------------------------------------------------------------


def entry(number: int) -> Entry:
    content = hashlib.sha256(b"%d" % number).digest()
    return Entry(EntryType.FILE, 0o644, len(b"%d" % number), content)


def tree(count: int) -> Manifest:
    return manifest_of({b"file%d" % number: entry(number) for number in range(count)})


def test_of_a_large_tree_only_what_differs_is_kept(tmp_path: Path) -> None:
    vault = Vault(str(tmp_path / "vault"))
    before = tree(3000)
    after = with_changes(before, {b"file7": None, b"new": entry(7), b"file8": entry(9)})
    whole_key, key = vault.keep_manifest(before), vault.keep_manifest(after)
    data = vault.content(bytes.fromhex(key))
    assert data is not None
    assert len(data) < 1000
    assert base_of(data) == bytes.fromhex(whole_key)
    assert vault.manifest(key) == after
    assert vault.manifest(whole_key) == before
    again = Vault(str(tmp_path / "vault"))
    assert again.manifest(key) == after
    other = again.keep_manifest(after)  # that it differs from nothing is another key of the same
    assert again.manifest(other) == after


def test_where_much_differs_and_of_a_small_tree_all_is_kept(tmp_path: Path) -> None:
    for count, changed in ((3000, 400), (400, 1)):
        vault = Vault(str(tmp_path / f"vault{count}"))
        before = tree(count)
        vault.keep_manifest(before)
        after = with_changes(before, {b"file%d" % each: entry(-1) for each in range(changed)})
        key = vault.keep_manifest(after)
        data = vault.content(bytes.fromhex(key))
        assert data is not None
        assert base_of(data) is None
        assert vault.manifest(key) == after


def test_after_contents_were_cleared_out_all_is_kept_again(tmp_path: Path) -> None:
    vault = Vault(str(tmp_path / "vault"))
    before = tree(3000)
    key = vault.keep_manifest(before)
    vault.discard([bytes.fromhex(key)])
    assert vault.manifest(key) is None
    after = with_changes(before, {b"file7": None})
    assert vault.manifest(vault.keep_manifest(after)) == after


def test_what_differs_is_refused_with_every_flipped_bit_and_without_what_it_differs_from() -> None:
    before = tree(20)
    after = with_changes(before, {b"file7": None, b"new": entry(7)})
    base = encode(before)
    data = encode_changes(after, hashlib.sha256(base).digest(), {b"file7": None, b"new": entry(7)})
    assert decode(data, lambda _: base) == after
    for at in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[at] ^= 1
        with pytest.raises(ValueError, match="manifest"):
            decode(bytes(damaged), lambda _: base)
    for found in (None, data, encode(tree(19)), b"pbmf"):
        with pytest.raises(ValueError, match="manifest"):
            decode(data, {hashlib.sha256(base).digest(): found}.get)
    with pytest.raises(ValueError, match="not kept"):
        decode(data)


def test_contents_are_missing_of_what_differs_from_a_tree_that_is_whole(tmp_path: Path) -> None:
    vault = Vault(str(tmp_path / "vault"))
    before = tree(50)
    contents = [(each.content, b"%d" % number) for number, each in _numbered(before)]
    vault.keep(contents)
    assert vault.lacks(before) == set()
    after = with_changes(before, {b"file1": None, b"more": entry(77), b"same": entry(3)})
    assert vault.lacks(after) == {entry(77).content}
    assert vault.lacks(with_changes(after, {b"file2": entry(78)})) == {
        entry(77).content,
        entry(78).content,
    }
    vault.discard([entry(4).content])
    assert entry(4).content in vault.lacks(after)


def _numbered(manifest: Manifest) -> list[tuple[int, Entry]]:
    return [(int(path[4:]), each) for path, each in manifest.entries.items()]


def test_what_a_kept_tree_differs_from_is_needed_like_its_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault(str(tmp_path / "vault"))
    before = tree(2000)
    kept = [(each.content, b"%d" % number) for number, each in _numbered(before)]
    vault.keep(kept)
    base = vault.keep_manifest(before)
    key = vault.keep_manifest(with_changes(before, {b"file7": None}))
    monkeypatch.setattr(gc, "needed_keys", lambda _records: frozenset({key}))
    journal: Any = SimpleNamespace(read=lambda _query: [])
    context: Any = SimpleNamespace(journals=lambda: [journal])
    needed = gc._needed(context, vault, set(vault.sizes()))
    contents = {sha256 for sha256, content in kept if content != b"7"}
    assert needed == {bytes.fromhex(base), bytes.fromhex(key), *contents}
