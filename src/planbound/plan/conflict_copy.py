"""Copies that file synchronisers, file managers and editors leave beside a file.

| left by                          | looks like                                                   |
| -------------------------------- | ------------------------------------------------------------ |
| Dropbox, Nextcloud               | `X (conflicted copy 2026-01-02).md`, `X (Ana's conflicted …` |
| Dropbox                          | `X (Case Conflict).md`                                       |
| ownCloud                         | `X_conflict-20260102-030405.md`                              |
| Google Drive                     | `X [Conflict].md`, `Copy of X.md`                            |
| Syncthing                        | `X.sync-conflict-20260102-030405-ABCDEFG.md`                 |
| Windows                          | `X - Copy.md`, `X - Copy (2).md`                             |
| browsers, drives; only beside X  | `X (1).md`                                                   |
| macOS; only beside X             | `X copy.md`, `X copy 2.md`                                   |
| editors                          | `X.md~`, `.#X.md`                                            |
"""

from __future__ import annotations

import re
from collections.abc import Collection

from planbound.source.pattern import lazy_pattern

_INSIDE = r"(?:[^()]|\([^()]*\))*"
_MARKS = lazy_pattern(
    rf"\s*\({_INSIDE}\b(?:conflicted copy|case conflict)\b{_INSIDE}\)"
    r"|\s*\[conflict(?:ed)?(?![^\s\]])[^\]]*\]"
    r"|\.sync-conflict-[0-9A-Za-z-]*"
    r"|_conflict-\d{8}-\d{6}"
    r"|\ - copy(?:\ \(\d+\))?(?=\.\w+$|$)",
    re.IGNORECASE,
)
"""What no plan is called: a copy, whether or not the original is still there."""
_PREFIX = lazy_pattern(r"copy (?:\(\d+\) )?of (?=\S)", re.IGNORECASE)
_BESIDE = lazy_pattern(r"(?: ?\(\d+\)| copy(?: \d+)?)(?=\.\w+$|$)")
"""What a plan may well be called: a copy only beside the original."""
_EDITOR = lazy_pattern(r"\.#(.+)|(.+?)~+", re.DOTALL)


def conflict_of(name: str, names: Collection[str]) -> str | None:
    """Return the name of the file that a file is a copy of; None where it is no copy.

    `names` are the files in the same folder.
    """
    original = name
    # A copy of a copy leads to the file that both are of. Every turn makes the name shorter.
    while (shorter := _original(original, names)) is not None:
        original = shorter
    return original if original != name else None


def is_left_by_editor(name: str) -> bool:
    """Say whether a copy is an editor's own: it casts no doubt on the file itself."""
    return _EDITOR.fullmatch(name) is not None


def _original(name: str, names: Collection[str]) -> str | None:
    by_editor = _EDITOR.fullmatch(name)
    if by_editor:
        return by_editor[1] or by_editor[2]
    if prefix := _PREFIX.match(name):
        return name[prefix.end() :]
    without, marks = _MARKS.subn("", name)
    if marks and _has_stem(without.strip()):
        return without.strip()
    beside = _BESIDE.sub("", name)
    return beside if beside != name and beside in names else None


def _has_stem(name: str) -> bool:
    return bool(name) and not re.fullmatch(r"\.\w+", name)
