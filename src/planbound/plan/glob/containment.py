"""Whether everything that one pattern matches is matched by others: sound, never a guess.

All patterns are walked at once. For each place that the inner one can be at, the walk keeps those
places of the outer ones that are *certainly* reached by the same names: a step is taken only where
every name that the inner segment allows fits the outer one. If an outer pattern is at its end
wherever the inner one may end, the inner one lies within. Where that cannot be shown the answer is
no, also for the few that do lie within: `?` within `[!a]` and `a` together is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from planbound.plan.glob import Glob
from planbound.plan.glob.chain import ANY, Chain, Characters
from planbound.plan.glob.segment import Segment, parse_segment

__all__ = ["within"]

_MOST_STATES = 20_000
"""Beyond that, the answer is no: a pattern that needs more is not one that people write."""

Item = TypeVar("Item")


def within(inner: Glob, outers: Sequence[Glob]) -> bool:
    """Whether every path that `inner` matches is surely matched by one of `outers`."""
    chains = [each.path for outer in outers for each in outer.alternatives]
    return bool(chains) and all(
        _contained(each.path, chains, _segment_within, parse_segment("*"))
        for each in inner.alternatives
    )


@lru_cache(maxsize=8192)
def _segment_within(inner: Segment, outer: Segment) -> bool:
    """Whether every name that `inner` matches is surely matched by `outer`."""
    if inner == outer or outer.text == "*":
        return True
    if outer.literal:
        return inner.literal and inner.stem == outer.stem
    return all(_contained(each, outer.chains, _among, ANY) for each in inner.chains)


def _among(inner: Characters, outer: Characters) -> bool:
    """Whether a set of characters is part of another; both are sorted and disjoint."""
    return all(any(low <= start and end <= high for low, high in outer) for start, end in inner)


def _contained(
    inner: Chain[Item],
    outers: Sequence[Chain[Item]],
    fits: Callable[[Item, Item], bool],
    anything: Item,
) -> bool:
    """Walk the inner chain and, for each of its places, all outer ones at once."""
    start = (0, tuple(1 for _ in outers))
    seen, waiting = {start}, [start]
    while waiting:
        place, reached = waiting.pop()
        if place == len(inner.items) and not _ended(reached, outers):
            return False
        for item, following in _moves(inner, place, anything):
            stepped = tuple(
                _step(bits, item, outer, fits) for bits, outer in zip(reached, outers, strict=True)
            )
            state = (following, stepped)
            if not any(stepped) or len(seen) > _MOST_STATES:
                return False
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return True


def _moves(inner: Chain[Item], place: int, anything: Item) -> Iterator[tuple[Item, int]]:
    """Yield what the inner chain may take here, and where it is then."""
    if inner.gaps >> place & 1:
        yield anything, place
    if place < len(inner.items):
        yield inner.items[place], place + 1


def _step(bits: int, item: Item, outer: Chain[Item], fits: Callable[[Item, Item], bool]) -> int:
    """Return the places of an outer chain that are surely reached behind an item."""
    after = bits & outer.gaps
    for position, own in enumerate(outer.items):
        if bits >> position & 1 and fits(item, own):
            after |= 1 << position + 1
    return after


def _ended(reached: Sequence[int], outers: Sequence[Chain[Item]]) -> bool:
    return any(bits >> len(outer.items) & 1 for bits, outer in zip(reached, outers, strict=True))
