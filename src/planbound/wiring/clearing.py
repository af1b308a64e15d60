"""Clears the state home of what no run, approval or receipt needs."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from planbound.engine.manifest import EntryType, decode
from planbound.engine.needed import needed_keys
from planbound.errors import PlanboundError
from planbound.ports.journal import Query
from planbound.shell.cell.inside.tree import remove_entry
from planbound.shell.git.guard import idle_copies
from planbound.store.vault import Vault
from planbound.wiring.judging import elsewhere, refuse_in_cell, vault
from planbound.wiring.parts import Parts
from planbound.wiring.storage import size_of
from planbound.wiring.sweeping import leftovers

_DAY = 86_400.0


class Item(NamedTuple):
    """One thing that nobody needs."""

    kind: str
    path: str
    size: int


class Cleared(NamedTuple):
    """What was removed, or would be."""

    items: tuple[Item, ...]
    contents: int
    """How many kept contents nobody needs."""
    contents_size: int
    kept: int
    """How many contents somebody needs."""
    busy: bool
    """Whether somebody uses the contents now, so that they are not touched."""
    size: int
    """How large the state home is afterwards."""
    elsewhere: bool = False
    """Whether a journal that cannot be read from here may need any content."""


def clear_out(parts: Parts, *, dry: bool) -> Cleared:
    """Remove what nobody needs; with `dry` only say what that is."""
    refuse_in_cell()
    items: list[Item] = []
    for leftover in leftovers(parts):
        size = size_of(leftover.path)
        if dry or _removed(leftover.remove):
            items.append(Item(leftover.kind, leftover.path, size))
    for path in _half_made(parts.state.folder):
        size = size_of(path)
        if dry or _removed(partial(remove_entry, path)):
            items.append(Item("half of a file", path, size))
    kept = vault(parts)
    try:
        with kept.alone() as alone:
            known = kept.sizes() if not elsewhere(parts) else {}
            garbage = set(known) - _needed(parts, kept, set(known))
            if garbage and alone and not dry:
                kept.discard(garbage)
            for path in idle_copies(os.path.join(parts.state.folder, "gits")) if alone else ():
                size = size_of(path)
                if dry or _removed(partial(remove_entry, path)):
                    items.append(Item("copy of a repository", path, size))
    finally:
        kept.close()
    return Cleared(
        items=tuple(items),
        contents=len(garbage),
        contents_size=sum(known[each] for each in garbage),
        kept=len(known) - len(garbage),
        busy=not alone and bool(garbage),
        size=size_of(parts.state.folder),
        elsewhere=elsewhere(parts),
    )


def _needed(parts: Parts, kept: Vault, known: set[bytes]) -> set[bytes]:
    """Return every content that a journal leads to."""
    journals = parts.journals()
    if not journals:
        return known  # whoever lost the journal may find it again
    keys = {key for journal in journals for key in needed_keys(journal.read(Query()))}
    roots = {bytes.fromhex(key) for key in keys} & known
    found = set(roots)
    for root in roots:
        content = kept.content(root)
        # A text that is kept is no manifest, and leads nowhere.
        with contextlib.suppress(ValueError):
            entries = decode(content or b"").entries.values()
            found |= {entry.content for entry in entries if entry.type is EntryType.FILE}
    return found & known


def _removed(remove: Callable[[], None]) -> bool:
    try:
        remove()
    except (OSError, PlanboundError):
        return False
    return True


def _half_made(folder: str) -> list[str]:
    """Return files that nobody finished for a day."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            half = entry.name.startswith(".") and ".tmp" in entry.name
            if half and time.time() - entry.stat(follow_symlinks=False).st_ctime > _DAY:
                found.append(entry.path)
    return found
