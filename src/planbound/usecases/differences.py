"""What changed in files, for people and for whoever tries again."""

from __future__ import annotations

import difflib

from planbound.engine.judging.frozen import Frozen
from planbound.engine.manifest import ChangeKind, EntryType, changes
from planbound.usecases.bench import Bench
from planbound.usecases.frozen_judges import read_frozen

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


def changed_since(frozen: Frozen | None, bench: Bench, most: int) -> str | None:
    """Return what was changed since a tree was frozen, about so many characters of it.

    None where nothing is frozen, so that nobody knows.
    """
    if frozen is None:
        return None
    found = []
    for change in changes(frozen.manifest, bench.tree.manifest(bench.rules)):
        entry = change.after or change.before
        if entry is None or entry.type is not EntryType.FILE:
            continue
        before = None
        if change.kind is not ChangeKind.ADDED:
            before = read_frozen(frozen.manifest, bench.vault, change.path)
        after = bench.tree.content(change.path, change.after) if change.after else None
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
