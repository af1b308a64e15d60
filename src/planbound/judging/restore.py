"""What was changed: put back where it may not be, and shown to whoever has to know."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.errors import FileProblem
from planbound.judging.context import JudgingContext
from planbound.judging.reference import Frozen, read_frozen
from planbound.workspace.contents import Tree
from planbound.workspace.manifest import ChangeKind, EntryType, TreeChange, changes

if TYPE_CHECKING:
    from planbound.workspace.vault import Vault

# -- put back what was changed and may not be ----------------------------------------------------


class Restored(NamedTuple):
    """What came of it, path by path."""

    back: tuple[str, ...]
    lost: tuple[tuple[str, str], ...]
    """What could not be put back, and why."""


def restore(tree: Tree, vault: Vault, changed: Sequence[TreeChange]) -> Restored:
    """Make every changed path be what it was before."""
    back: list[str] = []
    lost: list[tuple[str, str]] = []
    # What was added goes first, the deepest path before its folder: it may be in the way.
    added = [change for change in changed if change.kind is ChangeKind.ADDED]
    rest = [change for change in changed if change.kind is not ChangeKind.ADDED]
    for change in (*reversed(added), *rest):
        try:
            _put_back(tree, vault, change)
        except FileProblem as problem:
            lost.append((change.path, problem.message))
        else:
            back.append(change.path)
    return Restored(tuple(sorted(back)), tuple(lost))


def _put_back(tree: Tree, vault: Vault, change: TreeChange) -> None:
    before = change.before
    content = None
    if before is not None and before.type is EntryType.FILE:
        content = vault.content(before.content)
        if content is None:
            raise FileProblem("no copy of it was kept")
    elif before is not None and before.type not in {EntryType.DIRECTORY, EntryType.LINK}:
        raise FileProblem("it is no file, folder or link, so no copy of it was kept")
    tree.put_back(change.path.encode("utf-8", "surrogateescape"), before, content)


# -- what changed in files, for people and for whoever tries again -------------------------------


_MAX_BYTES = 200_000
_MAX_LINES = 60


def difference(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return a unified difference; a sentence where the files are not text or too large."""
    old, new = _lines(before), _lines(after)
    if old is None or new is None:
        return "not text, or too large to show"
    lines = list(
        difflib.unified_diff(old, new, f"frozen/{path}", f"workspace/{path}", lineterm="", n=2)
    )
    if len(lines) > _MAX_LINES:
        lines = [*lines[:_MAX_LINES], f"... {len(lines) - _MAX_LINES} more lines"]
    return "\n".join(lines)


def diff_since(frozen: Frozen | None, judging: JudgingContext, most: int) -> str | None:
    """Return what was changed since a tree was frozen, about so many characters of it.

    None where nothing is frozen, so that nobody knows.
    """
    if frozen is None:
        return None
    found = []
    for change in changes(frozen.manifest, judging.tree.manifest(judging.rules)):
        entry = change.after or change.before
        if entry is None or entry.type is not EntryType.FILE:
            continue
        before = None
        if change.kind is not ChangeKind.ADDED:
            before = read_frozen(frozen.manifest, judging.vault, change.path)
        after = judging.tree.content(change.path, change.after) if change.after else None
        found.append(difference(change.path, before, after))
        if sum(map(len, found)) > most:
            break
    return "\n".join(found)


def _lines(content: bytes | None) -> list[str] | None:
    if content is None:
        return []
    if len(content) > _MAX_BYTES or b"\0" in content:
        return None
    return content.decode("utf-8", "replace").splitlines()
