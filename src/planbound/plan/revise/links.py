"""Which step depends on which: by place in the plan and not by number, so that numbers may change.

`verify.graph` sees the same graph; `plan` may not import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

from planbound.plan.model import Plan
from planbound.plan.revise.error import RevisionError, name_of


class Link(NamedTuple):
    """What one step says of its dependencies."""

    places: tuple[int, ...] | None
    """Places of steps; None: the step before this one."""
    unknown: bool = False
    """Whether it also names steps that are not there."""

    def before(self, previous: int | None, own: int) -> tuple[int, ...]:
        """Return the steps that this one waits for."""
        found = tuple(place for place in self.places or () if place != own)
        # A step whose dependencies are all unknown is not free of them: it waits.
        if self.places is None or (self.unknown and not found):
            return () if previous is None else (previous,)
        return found


def read_links(plan: Plan) -> tuple[Link, ...]:
    """Return the link of each step."""
    place_of = {step.label: place for place, step in enumerate(plan.steps) if step.label}
    links = []
    for step in plan.steps:
        if step.depends is None:
            links.append(Link(None))
            continue
        labels = dict.fromkeys(item.value for item in step.depends)
        known = tuple(place_of[label] for label in labels if label in place_of)
        links.append(Link(known, unknown=len(known) < len(labels)))
    return tuple(links)


def without(links: Sequence[Link], removed: int) -> tuple[Link, ...]:
    """Return the links when a step goes: who waited for it waits for what it waited for.

    A step without declared dependencies keeps to its "the step before this one" where that says
    the same; else its dependencies must be declared from now on.
    """
    before = removed - 1 if removed else None
    inherited = links[removed].before(before, removed)
    result = []
    for place, link in enumerate(links):
        if link.places is not None and removed in link.places:
            merged = dict.fromkeys(
                new
                for old in link.places
                for new in (inherited if old == removed else (old,))
                if new != place or old != removed
            )
            result.append(link._replace(places=tuple(merged)))
        elif link.places is None and place == removed + 1:
            wanted = tuple(item for item in inherited if item != place)
            same = wanted == (() if before is None else (before,))
            result.append(link if same else Link(tuple(sorted(wanted))))
        else:
            result.append(link)
    return tuple(result)


def check_forward(plan: Plan, links: Sequence[Link], order: Sequence[int]) -> None:
    """Refuse an order that puts a step before one that it depends on.

    Where the plan had it so already, it is not this change that makes it wrong.
    """
    new_place = {old: new for new, old in enumerate(order)}
    for old in order:
        for other in links[old].places or ():
            if other < old and new_place[other] > new_place[old]:
                first, second = name_of(plan.steps[old]), name_of(plan.steps[other])
                raise RevisionError(f"{first} depends on {second}, which would come after it")


def check_cycles(plan: Plan, links: Sequence[Link], order: Sequence[int]) -> None:
    """Refuse an order in which steps wait for each other."""
    graph = {}
    previous = None
    for old in order:
        graph[old] = links[old].before(previous, old)
        previous = old
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # Each step of the path comes before the next: turned round, each waits for the next.
        path = [name_of(plan.steps[place]) for place in reversed(error.args[1])]
        waits = ", ".join(f"{first} would wait for {second}" for first, second in pairwise(path))
        raise RevisionError(f"steps would wait for each other: {waits}") from None
