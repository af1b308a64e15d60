"""One segment of a pattern: what stands between two slashes."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Generic, TypeVar

from msgspec import Struct

# -- sequences with gaps, and whether one sequence fits two of them ------------------------------


Item = TypeVar("Item")
Other = TypeVar("Other")

Characters = tuple[tuple[int, int], ...]
"""What an item of a segment accepts: sorted, disjoint, inclusive ranges of code points."""


class GapSequence(Struct, Generic[Item], frozen=True):
    """Items in order. Bit i of `gaps`: anything may stand before item i (bit n: at the end)."""

    items: tuple[Item, ...]
    gaps: int


def meet(
    left: GapSequence[Item], right: GapSequence[Other], compatible: Callable[[Item, Other], bool]
) -> bool:
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


# -- one segment of a pattern: what stands between two slashes -----------------------------------


class GlobProblem(enum.Enum):
    """What is wrong with a pattern."""

    INVALID = "invalid"
    """It is not written as a pattern is."""
    ABSOLUTE = "absolute"
    """It does not start at the workspace root."""
    ESCAPES = "escapes"
    """It climbs with `..`."""


class GlobError(ValueError):
    """A text that is not a pattern: the problem, what was found and expected, and the cure."""

    def __init__(self, problem: GlobProblem, reason: str, hint: str | None = None) -> None:
        super().__init__(problem, reason, hint)
        self.problem = problem
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        return self.reason


class Segment:
    """One segment other than `**`. Two are equal when they are written the same."""

    def __init__(self, text: str, chain: GapSequence[Characters] | None) -> None:
        self.text = text
        self.stem = text if chain is None else _stem(chain)
        """The literal characters that it starts with."""
        self.literal = chain is None or (not chain.gaps and len(self.stem) == len(chain.items))
        """Whether the stem is all of it."""
        self._chain = chain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Segment) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @cached_property
    def chains(self) -> tuple[GapSequence[Characters], ...]:
        """Chains that accept what the segment does, less the impossible names `.` and `..`."""
        chain = self._chain
        if chain is None:
            chain = GapSequence(items=tuple(exactly(character) for character in self.text), gaps=0)
        return _possible_names(chain)


def segments_meet(left: Segment, right: Segment) -> bool:
    """Whether there is a name that both segments match."""
    if left.literal and right.literal:
        return left.stem == right.stem
    return any(meet(mine, theirs, overlap) for mine in left.chains for theirs in right.chains)


def name_fits(name: str, segment: Segment) -> bool:
    """Whether a segment matches a name."""
    if segment.literal:
        return name == segment.stem
    walked = GapSequence(items=tuple(name), gaps=0)
    return any(meet(walked, chain, is_among) for chain in segment.chains)


@lru_cache(maxsize=8192)
def parse_segment(text: str) -> Segment:
    """Read one segment, or raise `GlobError`."""
    if not any(special in text for special in "*?["):
        return Segment(text, None)
    items: list[Characters] = []
    gaps = 0
    position = 0
    while position < len(text):
        end = position + 1
        match text[position]:
            case "*":
                if text.startswith("**", position):
                    found = f"found `**` glued to other characters in `{text}`"
                    hint = "write `**` between slashes, or one `*` inside a segment"
                    raise invalid(f"{found}; expected it to be a whole segment", hint)
                gaps |= 1 << len(items)
            case "?":
                items.append(ANY)
            case "[":
                end = class_end(text, position)
                items.append(_parse_class(text[position:end]))
            case character:
                items.append(exactly(character))
        position = end
    return Segment(text, GapSequence(items=tuple(items), gaps=gaps))


def class_end(text: str, start: int) -> int:
    """The position after the `]` of the class that starts here."""
    first = start + 2 if text.startswith("!", start + 1) else start + 1
    end = text.find("]", first + 1)
    if end < 0 or "/" in text[start:end]:
        hint = "write a literal bracket as `[[]`"
        raise invalid(f"found `[` without its `]` in a segment of `{text}`", hint)
    return end + 1


def _parse_class(text: str) -> Characters:
    negated = text.startswith("[!")
    members = text[2:-1] if negated else text[1:-1]
    if members.startswith("^") and not negated:
        # Half of all tools negate here, and half take it as a member: refuse to guess.
        hint = "write `[!abc]` to negate; as a member, put the `^` after another"
        raise invalid(f"found `^` at the start of the class `{text}`; expected a member", hint)
    ranges: list[tuple[int, int]] = []
    position = 0
    while position < len(members):
        low = high = members[position]
        if members[position + 1 : position + 2] == "-" and position + 2 < len(members):
            high = members[position + 2]
            position += 2
        if high < low:
            found = f"found the reversed range `{low}-{high}` in `{text}`"
            raise invalid(f"{found}; expected the lower end first", f"write `{high}-{low}`")
        ranges.append((ord(low), ord(high)))
        position += 1
    return without("/", complement(ranges) if negated else complement(complement(ranges)))


def _stem(chain: GapSequence[Characters]) -> str:
    """The characters at the start for which there is no choice."""
    stem = ""
    for position, characters in enumerate(chain.items):
        (low, high), *more = characters
        if chain.gaps >> position & 1 or more or low != high:
            break
        stem += chr(low)
    return stem


def _possible_names(chain: GapSequence[Characters]) -> tuple[GapSequence[Characters], ...]:
    """Chains that together accept what this one does, less `.` and `..`.

    Only a chain without gaps can be forced to these names. Two chains with gaps that share any
    name also share a longer one, as there is room for more characters in both.
    """
    items = chain.items
    if chain.gaps or len(items) > 2 or not all(is_among(".", item) for item in items):
        return (chain,)
    narrowed = ((position, without(".", item)) for position, item in enumerate(items))
    return tuple(
        GapSequence(items=(*items[:position], item, *items[position + 1 :]), gaps=0)
        for position, item in narrowed
        if item
    )


def invalid(reason: str, hint: str | None = None) -> GlobError:
    """The error for a pattern that is not written as one is."""
    return GlobError(GlobProblem.INVALID, reason, hint)
