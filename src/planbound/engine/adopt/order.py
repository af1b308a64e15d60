"""Foreign dependencies into numbers of steps, and what is wrong with them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.adopt.task import ForeignTask
from planbound.source.visible import INVISIBLE


class Placed(NamedTuple):
    """A task with its place in the plan."""

    task: ForeignTask
    number: int
    depends: tuple[int, ...] | None
    """Numbers of steps; None where the source says nothing."""
    missing: tuple[str, ...]
    """Ids of the source that no task has."""
    remarks: tuple[str, ...]
    """What is wrong with the task in its source."""


def place_tasks(tasks: Sequence[ForeignTask]) -> tuple[Placed, ...]:
    """Return the tasks so that each stands behind those it waits for.

    The order of the source stays wherever it can. A task of which the source says nothing waits
    for the step before it. Tasks that wait for each other in a circle stay
    in the order of the source, and keep their dependencies: `verify` reports them.
    """
    by_id: dict[str, list[int]] = {}
    for index, task in enumerate(tasks):
        by_id.setdefault(task.id.casefold(), []).append(index)
    needs, missing = _resolved(tasks, by_id)
    circle = _circle(needs)
    order = _sorted(needs, circle)
    number_of = {index: place for place, index in enumerate(order, 1)}
    placed = []
    for place, index in enumerate(order, 1):
        task = tasks[index]
        numbers = tuple(sorted(number_of[need] for need in needs[index]))
        placed.append(
            Placed(
                task=task,
                number=place,
                depends=None if task.depends is None else numbers,
                missing=missing[index],
                remarks=tuple(_remarks(task, by_id, missing[index], in_circle=index in circle)),
            )
        )
    return tuple(placed)


def _resolved(
    tasks: Sequence[ForeignTask], by_id: dict[str, list[int]]
) -> tuple[list[set[int]], list[tuple[str, ...]]]:
    needs: list[set[int]] = []
    missing: list[tuple[str, ...]] = []
    for task in tasks:
        if task.depends is None:
            needs.append(set())
            missing.append(())
            continue
        needs.append({i for name in task.depends for i in by_id.get(name.casefold(), ())})
        missing.append(tuple(name for name in task.depends if name.casefold() not in by_id))
    return needs, missing


def _sorted(needs: Sequence[set[int]], circle: set[int]) -> list[int]:
    """Return an order in which needs come first; the smallest index where several could be next."""
    # In a circle the order of the source decides: only what points back there counts.
    waiting = [
        {need for need in needed if need < index or not {need, index} <= circle}
        for index, needed in enumerate(needs)
    ]
    followers: list[list[int]] = [[] for _ in needs]
    for index, needed in enumerate(waiting):
        for need in needed:
            followers[need].append(index)
    ready = [index for index, needed in enumerate(waiting) if not needed]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for follower in followers[index]:
            waiting[follower].discard(index)
            if not waiting[follower]:
                heapq.heappush(ready, follower)
    return order


def _circle(needs: Sequence[set[int]]) -> set[int]:
    """Return the tasks that wait for each other: what is left when both ends are taken off."""
    left = {index: set(needed) for index, needed in enumerate(needs)}
    for _ in range(2):
        followers: dict[int, list[int]] = {}
        for index, needed in left.items():
            for need in needed:
                followers.setdefault(need, []).append(index)
        free = [index for index, needed in left.items() if not needed]
        while free:
            index = free.pop()
            del left[index]
            for follower in followers.get(index, ()):
                left[follower].discard(index)
                if not left[follower]:
                    free.append(follower)
        # Once more from the other end: what merely waits for a circle is not in it.
        turned: dict[int, set[int]] = {index: set() for index in left}
        for index, needed in left.items():
            for need in needed:
                turned[need].add(index)
        left = turned
    return set(left)


def _remarks(
    task: ForeignTask, by_id: dict[str, list[int]], missing: Sequence[str], *, in_circle: bool
) -> list[str]:
    found = [f"it waits for `{plain(name)}`, and the source has no such task" for name in missing]
    if in_circle:
        found.append("it waits for itself, in a circle with what it depends on")
    if task.named and len(by_id[task.id.casefold()]) > 1:
        found.append(f"the source has several tasks with the id `{plain(task.id)}`")
    return found


def plain(text: str) -> str:
    """Return a text of the source as it can stand in backticks, on one line."""
    return " ".join(INVISIBLE.sub(" ", text).replace("`", "'").split())[:80]
