"""Which step depends on which."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from planbound.plan.model import Plan

MAX_CYCLES = 50
"""More are not worth telling, and finding them all takes for ever."""


class Graph:
    """Dependencies as indices of steps; unknown ones and the step itself are left out."""

    def __init__(self, edges: tuple[tuple[int, ...], ...]) -> None:
        self.edges = edges

    @classmethod
    def of(cls, plan: Plan) -> Graph:
        """Return the graph of a plan."""
        index = {step.label: place for place, step in reversed(list(enumerate(plan.steps)))}
        edges: list[tuple[int, ...]] = []
        for place, step in enumerate(plan.steps):
            if step.depends is None:
                edges.append((place - 1,) if place else ())
            else:
                found = (index.get(item.value, place) for item in step.depends)
                known = tuple(dict.fromkeys(other for other in found if other != place))
                # A step whose dependencies are all unknown is not free of them: it waits.
                edges.append(known or ((place - 1,) if step.depends and place else ()))
        return cls(tuple(edges))

    @cached_property
    def cycles(self) -> list[list[int]]:
        """One path for each knot of steps that wait for each other: `[1, 3, 1]`."""
        # Depth first without recursion: a chain may be thousands of steps long.
        found: list[list[int]] = []
        state = [0] * len(self.edges)  # 0 not seen, 1 on the path, 2 done
        for root in range(len(self.edges)):
            if state[root]:
                continue
            path, pending = [root], [iter(self.edges[root])]
            state[root] = 1
            while pending:
                following = next(pending[-1], None)
                if following is None:
                    state[path.pop()] = 2
                    pending.pop()
                elif state[following] == 1 and len(found) < MAX_CYCLES:
                    found.append([*path[path.index(following) :], following])
                elif state[following] == 0:
                    state[following] = 1
                    path.append(following)
                    pending.append(iter(self.edges[following]))
        return found

    @cached_property
    def ancestors(self) -> list[int]:
        """For each step the set of steps before it, as bits; for a graph without cycles."""
        return _closure(self.edges)

    @cached_property
    def descendants(self) -> list[int]:
        """For each step the set of steps that wait for it, as bits."""
        turned: list[list[int]] = [[] for _ in self.edges]
        for step, edges in enumerate(self.edges):
            for edge in edges:
                turned[edge].append(step)
        return _closure(turned)

    def may_run_together(self, left: int, right: int) -> bool:
        """Say whether neither of two steps waits for the other."""
        return not (self.ancestors[left] >> right & 1 or self.ancestors[right] >> left & 1)

    @cached_property
    def parallel(self) -> list[bool]:
        """For each step whether some other step may run at the same time."""
        others = len(self.edges) - 1
        return [
            before.bit_count() + after.bit_count() < others
            for before, after in zip(self.ancestors, self.descendants, strict=True)
        ]


def _closure(edges: Sequence[Sequence[int]]) -> list[int]:
    result = [0] * len(edges)
    done = [False] * len(edges)
    for root in range(len(edges)):
        stack = [root]
        while stack:
            step = stack[-1]
            waiting = [edge for edge in edges[step] if not done[edge]]
            if waiting and not done[step]:
                stack += waiting
                continue
            stack.pop()
            done[step] = True
            for edge in edges[step]:
                result[step] |= result[edge] | (1 << edge)
    return result
