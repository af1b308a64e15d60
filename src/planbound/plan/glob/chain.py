"""Sequences with gaps, and whether one sequence fits two of them.

A chain of segments is a pattern, with `**` for its gaps; a chain of sets of characters is one
segment, with `*` for its gaps. One walk decides both, without going back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Other = TypeVar("Other")

Characters = tuple[tuple[int, int], ...]
"""What an item of a segment accepts: sorted, disjoint, inclusive ranges of code points."""


class Chain(NamedTuple, Generic[Item]):
    """Items in order. Bit i of `gaps`: anything may stand before item i (bit n: at the end)."""

    items: tuple[Item, ...]
    gaps: int


def meet(left: Chain[Item], right: Chain[Other], compatible: Callable[[Item, Other], bool]) -> bool:
    """Whether one sequence fits both chains; every item must accept something.

    Bit j of `reached`: some sequence brings `left` to the item at hand and `right` to its item j.
    """
    places: dict[Other, int] = {}
    for position, other in enumerate(right.items):
        places[other] = places.get(other, 0) | 1 << position
    steps: dict[Item, int] = {}
    reached = 1
    for position, item in enumerate(left.items):
        if left.gaps >> position & 1:
            reached = _all_from_lowest(reached, len(right.items))
        if item not in steps:
            steps[item] = sum(bits for other, bits in places.items() if compatible(item, other))
        reached = (reached & steps[item]) << 1 | reached & right.gaps
        if not reached:
            return False
    if left.gaps >> len(left.items) & 1:
        # In its last gap `left` takes whatever `right` still needs.
        return True
    return bool(reached >> len(right.items) & 1)


def _all_from_lowest(bits: int, highest: int) -> int:
    lowest = bits & -bits
    return (1 << (highest + 1)) - lowest


def overlap(left: Characters, right: Characters) -> bool:
    """Whether two sets of characters share one."""
    return any(mine[0] <= theirs[1] and theirs[0] <= mine[1] for mine in left for theirs in right)


def is_among(character: str, characters: Characters) -> bool:
    """Whether a character is in a set."""
    return any(low <= ord(character) <= high for low, high in characters)


def complement(ranges: Iterable[tuple[int, int]]) -> Characters:
    """All characters but these, and but NUL."""
    rest = []
    start = 1
    for low, high in sorted(ranges):
        if start < low:
            rest.append((start, low - 1))
        start = max(start, high + 1)
    if start <= sys.maxunicode:
        rest.append((start, sys.maxunicode))
    return tuple(rest)


def exactly(character: str) -> Characters:
    """The set of one character."""
    return ((ord(character), ord(character)),)


def without(character: str, characters: Characters) -> Characters:
    """The set less one character."""
    return complement((*complement(characters), *exactly(character)))


ANY = complement(exactly("/"))
