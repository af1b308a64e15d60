"""Changes that a person makes to a plan at the gate: steps go, come, change places or text.

Each change is made in the plan's text. A step moves with its whole block, its status marks and
its own words; numbers of steps are written anew in headings, in `(depends on …)` and in
`**depends:**`; every other byte stays. Numbers in free text ("as in step 2") are the author's
words and stay too. A step keeps its id, and its meaning but for number and dependencies.

A declared dependency follows the step that it means. A step that declares none depends on the
step before it, and so on the one before it in the new order.

Steps are named by number (`3`) or by id. What cannot be done is a `RevisionError`; the text that
is returned was parsed again and found to be what was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, assert_never

from planbound.plan.labels import normalise_label
from planbound.plan.model import Plan
from planbound.plan.parse import parse_source
from planbound.plan.revise.error import RevisionError, name_of
from planbound.plan.revise.rewrite import arrange, remove
from planbound.plan.revise.step_text import append, replace
from planbound.source import Source

__all__ = [
    "Change",
    "MoveStep",
    "RemoveStep",
    "ReorderSteps",
    "RevisionError",
    "SwapSteps",
    "add_step",
    "move_step",
    "remove_step",
    "reorder_steps",
    "replace_step",
    "revise",
    "swap_steps",
]

_SHOWN = 20


class RemoveStep(NamedTuple):
    """A step goes."""

    label: str


class MoveStep(NamedTuple):
    """A step goes to another place; to the end where none is named."""

    label: str
    before: str | None = None
    after: str | None = None


class SwapSteps(NamedTuple):
    """Two steps change places."""

    first: str
    second: str


class ReorderSteps(NamedTuple):
    """All steps in a new order."""

    order: tuple[str, ...]


Change = RemoveStep | MoveStep | SwapSteps | ReorderSteps


def revise(plan: Plan, change: Change) -> str:
    """Return the plan's text with a change made."""
    match change:
        case RemoveStep():
            return remove_step(plan, change.label)
        case MoveStep():
            return move_step(plan, change.label, before=change.before, after=change.after)
        case SwapSteps():
            return swap_steps(plan, change.first, change.second)
        case ReorderSteps():
            return reorder_steps(plan, change.order)
        case _:
            assert_never(change)


def remove_step(plan: Plan, label: str) -> str:
    """Return the plan's text without a step, the later ones renumbered.

    Steps that depended on it depend on what it depended on. That holds as well for a step that
    only stood behind it: where "the step before this one" would say something else from now on,
    `(depends on …)` is written into its title.
    """
    return remove(plan, _place(plan, label))


def move_step(
    plan: Plan, label: str, *, before: str | None = None, after: str | None = None
) -> str:
    """Return the plan's text with a step in another place, and all steps renumbered.

    `before="first"` is the beginning; `after="last"`, or no place at all, the end. A declared
    dependency follows the step that it means; a step that declares none depends on the one that
    stands before it in the new order, so a move can change what it and its neighbours wait for.
    """
    if before is not None and after is not None:
        raise RevisionError("a step is moved before a step or after one, not both")
    moved = _place(plan, label)
    others = [place for place in range(len(plan.steps)) if place != moved]
    if before == "first":
        slot = 0
    elif before is not None:
        slot = _slot(plan, before, moved)
    elif after is None or after == "last":
        slot = len(others)
    else:
        slot = _slot(plan, after, moved, behind=1)
    return arrange(plan, [*others[:slot], moved, *others[slot:]])


def replace_step(plan: Plan, label: str, text: str) -> str:
    """Return the plan's text with another text for a step; its number stays.

    The text is one step with its heading, and names other steps by the numbers that they have.
    """
    return replace(plan, _place(plan, label), text)


def add_step(plan: Plan, text: str, *, before: str | None = None, after: str | None = None) -> str:
    """Return the plan's text with one more step, and all steps renumbered.

    The place is said as for `move_step`. Whatever number the text has, it gets the one of its
    place; it names other steps by the numbers that they have before it comes. The step behind it
    depends on it, unless it says otherwise.
    """
    added = parse_source(Source(path=plan.source.path, text=append(plan, text)))
    own = added.steps[-1]
    return move_step(added, own.label or own.id, before=before, after=after)


def swap_steps(plan: Plan, first: str, second: str) -> str:
    """Return the plan's text with two steps in each other's place."""
    left, right = _place(plan, first), _place(plan, second)
    order = list(range(len(plan.steps)))
    order[left], order[right] = right, left
    return arrange(plan, order)


def reorder_steps(plan: Plan, order: Sequence[str]) -> str:
    """Return the plan's text with its steps in a new order, which names each exactly once."""
    places = _places(plan, order)
    named = Counter(places)
    for place, step in enumerate(plan.steps):
        if named[place] != 1:
            told = "in the new order more than once" if named[place] else "not in the new order"
            raise RevisionError(f"{name_of(step)} is {told}: name every step exactly once")
    return arrange(plan, places)


def _slot(plan: Plan, label: str, moved: int, *, behind: int = 0) -> int:
    """Return the place among the other steps; next to itself a step stays where it is."""
    place = _place(plan, label)
    if place == moved:
        return moved
    return place + behind - (1 if place > moved else 0)


def _place(plan: Plan, name: str) -> int:
    return _places(plan, [name])[0]


def _places(plan: Plan, names: Sequence[str]) -> list[int]:
    """Return the places of the steps with these numbers or, failing that, these ids."""
    backwards = list(enumerate(plan.steps))[::-1]  # of two with the same name the first is meant
    labels = {step.label: place for place, step in backwards if step.label}
    ids = {step.id: place for place, step in backwards}
    found = []
    for name in names:
        place = labels.get(normalise_label(name), ids.get(name))
        if place is None:
            known = [step.label or step.id for step in plan.steps]
            shown = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
            told = f"its steps are {shown}" if known else "it has no steps"
            raise RevisionError(f"the plan has no step `{name}`: {told}")
        found.append(place)
    return found
