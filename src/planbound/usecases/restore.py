"""Put back what was changed and may not be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.manifest import Change, ChangeKind, EntryType
from planbound.errors import FileProblem
from planbound.ports.tree import Tree, Vault


class Restored(NamedTuple):
    """What came of it, path by path."""

    back: tuple[str, ...]
    lost: tuple[tuple[str, str], ...]
    """What could not be put back, and why."""


def restore(tree: Tree, vault: Vault, changes: Sequence[Change]) -> Restored:
    """Make every changed path be what it was before."""
    back: list[str] = []
    lost: list[tuple[str, str]] = []
    # What was added goes first, the deepest path before its folder: it may be in the way.
    added = [change for change in changes if change.kind is ChangeKind.ADDED]
    rest = [change for change in changes if change.kind is not ChangeKind.ADDED]
    for change in (*reversed(added), *rest):
        try:
            _put_back(tree, vault, change)
        except FileProblem as problem:
            lost.append((change.path, problem.message))
        else:
            back.append(change.path)
    return Restored(tuple(sorted(back)), tuple(lost))


def _put_back(tree: Tree, vault: Vault, change: Change) -> None:
    before = change.before
    content = None
    if before is not None and before.type is EntryType.FILE:
        content = vault.content(before.content)
        if content is None:
            raise FileProblem("no copy of it was kept")
    elif before is not None and before.type not in {EntryType.DIRECTORY, EntryType.LINK}:
        raise FileProblem("it is no file, folder or link, so no copy of it was kept")
    tree.put_back(change.path.encode("utf-8", "surrogateescape"), before, content)
