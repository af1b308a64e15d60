"""Where plans stand in a drawing of what waits for what: columns by depth, few crossings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from planbound.workspace.readiness import knots

_SWEEPS = 4
Spot = tuple[int, int]
"""A column and a row, from 0."""


class PlacedPlan(NamedTuple):
    """A plan, and where it stands."""

    slug: str
    spot: Spot


class DrawnEdge(NamedTuple):
    """A line from a plan to one that waits for it, over free spots of the columns between."""

    before: str
    after: str
    way: tuple[Spot, ...]


class PlanGraph(NamedTuple):
    """What is drawn."""

    plans: tuple[PlacedPlan, ...]
    edges: tuple[DrawnEdge, ...]
    columns: int
    rows: int
    knotted: frozenset[str]
    """Plans that wait for each other; no line between two of them is drawn."""


_Key = tuple[str, str, int]
"""A plan, `(slug, "", 0)`, or the spot that a line has in a column between two plans."""


def lay_out_graph(depends_on: Mapping[str, Sequence[str]]) -> PlanGraph:
    """Return where each plan stands: right of everything that it waits for.

    A line is left out where a longer way says the same: who waits for `b`, which waits for `a`,
    waits for `a`.
    """
    knotted = frozenset(knots(_closed(depends_on)))
    edges = {
        slug: frozenset(
            other
            for other in others
            if other != slug and not (slug in knotted and other in knotted)
        )
        for slug, others in _closed(depends_on).items()
    }
    depths = _depths(edges)
    short = _reduced(edges, depths)
    ways = {
        (before, after): _way(before, after, depths)
        for after, others in short.items()
        for before in sorted(others)
    }
    spots = _spots(depths, ways.values())
    plans = tuple(PlacedPlan(slug, spots[slug, "", 0]) for slug in sorted(depths))
    drawn = tuple(
        DrawnEdge(before, after, tuple(spots[key] for key in ways[before, after]))
        for before, after in sorted(ways)
    )
    columns = max((column for column, _ in spots.values()), default=-1) + 1
    rows = max((row for _, row in spots.values()), default=-1) + 1
    return PlanGraph(plans, drawn, columns, rows, knotted)


def _closed(depends_on: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the same with a place for each plan that is only waited for."""
    found = {slug: tuple(dict.fromkeys(others)) for slug, others in depends_on.items()}
    for others in depends_on.values():
        for other in others:
            found.setdefault(other, ())
    return found


def _depths(edges: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return the length of the longest way to each plan; there is no circle in `edges`."""
    depths: dict[str, int] = {}
    for start in sorted(edges):
        pending = [start]
        while pending:
            slug = pending[-1]
            missing = [other for other in sorted(edges[slug]) if other not in depths]
            if missing and slug not in depths:
                pending += missing
                continue
            pending.pop()
            depths[slug] = max((depths[other] + 1 for other in edges[slug]), default=0)
    return depths


def _reduced(
    edges: Mapping[str, frozenset[str]], depths: Mapping[str, int]
) -> dict[str, frozenset[str]]:
    """Return the edges that no longer way replaces."""
    reached: dict[str, frozenset[str]] = {}
    found: dict[str, frozenset[str]] = {}
    for slug in sorted(edges, key=lambda each: depths[each]):
        beyond = frozenset(far for other in edges[slug] for far in reached[other])
        found[slug] = edges[slug] - beyond
        reached[slug] = edges[slug] | beyond
    return found


def _way(before: str, after: str, depths: Mapping[str, int]) -> tuple[_Key, ...]:
    between = range(depths[before] + 1, depths[after])
    return ((before, "", 0), *((before, after, depth) for depth in between), (after, "", 0))


def _spots(depths: Mapping[str, int], ways: Iterable[Sequence[_Key]]) -> dict[_Key, Spot]:
    """Return a spot for each plan and each bend, near to what it is joined with."""
    joined: dict[_Key, list[_Key]] = {(slug, "", 0): [] for slug in depths}
    column = {key: depths[key[0]] for key in joined}
    for way in ways:
        for one, other in pairwise(way):
            for key in (one, other):
                joined.setdefault(key, [])
                column.setdefault(key, key[2])
            joined[one].append(other)
            joined[other].append(one)
    last = max(column.values(), default=-1)
    columns = [sorted(key for key in joined if column[key] == at) for at in range(last + 1)]
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        order = range(len(columns)) if forward else range(len(columns) - 1, -1, -1)
        for at in order:
            _arrange(columns, at, at - 1 if forward else at + 1, joined)
    longest = max(map(len, columns), default=0)
    return {
        key: (at, row + (longest - len(keys)) // 2)  # short columns stand in the middle
        for at, keys in enumerate(columns)
        for row, key in enumerate(keys)
    }


def _arrange(
    columns: list[list[_Key]], at: int, beside: int, joined: Mapping[_Key, Sequence[_Key]]
) -> None:
    """Order a column by where what it is joined with stands in the one beside it."""
    if not 0 <= beside < len(columns):
        return
    rows = {key: row for row, key in enumerate(columns[beside])}
    own = {key: row for row, key in enumerate(columns[at])}

    def middle(key: _Key) -> tuple[float, int]:
        found = [rows[other] for other in joined[key] if other in rows]
        return (sum(found) / len(found) if found else float(own[key]), own[key])

    columns[at].sort(key=middle)
