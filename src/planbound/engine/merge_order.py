"""In which order finished plans are merged: what others build on first, small before large."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planbound.engine.readiness import DONE, FINISHED, PlanInfo, arrows, cycle_through, knots


class Turn(NamedTuple):
    """One plan's place in the order."""

    slug: str
    level: int
    """The longest chain of plans in the order that come before it."""
    size: int | None
    """How many lines it changes; None where that is not known."""
    reason: str


class MergeOrder(NamedTuple):
    """The order, or why there is none."""

    turns: tuple[Turn, ...]
    cycle: tuple[str, ...] = ()
    """Plans that wait for each other, `(a, b, a)`."""


def merge_order(
    plans: Iterable[PlanInfo], sizes: Mapping[str, int | None], *, merged: bool = False
) -> MergeOrder:
    """Return the finished plans that are not archived, in the order to merge them.

    `merged`: those that were merged already, too.
    """
    known = {plan.slug: plan for plan in plans}
    edges = {
        slug: [other for other in plan.depends_on if other in known] for slug, plan in known.items()
    }
    finished = {
        slug
        for slug, plan in known.items()
        if plan.status in FINISHED and plan.unproved is None
        if not plan.archived and (merged or not plan.integrated)
    }
    reachable = _reachable(finished, edges)
    for slug in sorted(knots({slug: edges[slug] for slug in reachable})):
        cycle = cycle_through(slug, edges)
        if cycle is not None:
            return MergeOrder((), tuple(cycle))
    levels = _levels(reachable, finished, edges)
    turns = [
        Turn(slug, levels[slug], sizes.get(slug), _reason(known[slug], levels, sizes, finished))
        for slug in finished
    ]
    return MergeOrder(tuple(sorted(turns, key=_key)))


def describe_cycle(cycle: Iterable[str]) -> str:
    """Return a cycle as a message."""
    return f"these plans wait for each other: {arrows(cycle)}"


def _key(turn: Turn) -> tuple[int, bool, int, str]:
    return turn.level, turn.size is None, turn.size or 0, turn.slug


def _reachable(roots: Iterable[str], edges: Mapping[str, list[str]]) -> set[str]:
    pending, seen = list(roots), set(roots)
    while pending:
        new = [other for other in edges[pending.pop()] if other not in seen]
        seen.update(new)
        pending += new
    return seen


def _levels(slugs: set[str], finished: set[str], edges: Mapping[str, list[str]]) -> dict[str, int]:
    """Return for each plan how many finished ones stand before it, on the longest chain."""
    levels: dict[str, int] = {}
    pending = sorted(slugs)
    while pending:
        slug = pending[-1]
        missing = [other for other in edges[slug] if other not in levels]
        if missing:
            pending += missing
            continue
        pending.pop()
        levels[slug] = max((levels[o] + (o in finished) for o in edges[slug]), default=0)
    return levels


def _reason(
    plan: PlanInfo,
    levels: Mapping[str, int],
    sizes: Mapping[str, int | None],
    finished: set[str],
) -> str:
    after = sorted({other for other in plan.depends_on if other in finished})
    if after:
        names = ", ".join(f"`{slug}`" for slug in after)
        order = f"level {levels[plan.slug]}, after {names}"
    else:
        order = f"level {levels[plan.slug]}"
        order += ", builds on none of these" if levels[plan.slug] == 0 else ""
    size = sizes.get(plan.slug)
    counted = (
        "size of its diff not known"
        if size is None
        else f"{size} changed line{'' if size == 1 else 's'}"
    )
    skips = "" if plan.status == DONE else f"; {plan.status}"
    return f"{order}; {counted}{skips}"
