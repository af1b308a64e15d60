"""The nearest known word."""

from __future__ import annotations

from collections.abc import Iterable

_FAR = 99


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that this one is most likely meant to be, if any is close."""
    folded = fold(word)
    if not folded or len(folded) > 40:
        return None
    scored = [(distance(folded, fold(name)), name) for name in known]
    best, name = min(scored, default=(_FAR, ""))
    return name if best <= max(1, len(folded) // 3) and best < len(fold(name)) else None


def fold(word: str) -> str:
    """Return a name without case, blanks, hyphens and underscores."""
    return "".join(character for character in word.casefold() if character.isalnum())


def distance(left: str, right: str) -> int:
    """Return the number of insertions, deletions, changes and swaps between two words."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
