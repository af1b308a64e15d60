"""The steps of a plan as a run sees them: numbered, with what each waits for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from planbound.plan.glob import Glob, parse_glob
from planbound.plan.model import Attest, Condition, OnFail, Plan, Step


class Slot(NamedTuple):
    """One step and its place among the others."""

    place: int
    """Among the steps of the plan, from 0."""
    id: str
    """As the journal calls it."""
    step: Step
    depends: tuple[int, ...]
    dependents: tuple[int, ...]
    touches: tuple[Glob, ...] | None
    """None: not declared, so that it may change anything."""

    @property
    def label(self) -> str:
        """Return the number in the plan."""
        return self.step.label

    @property
    def title(self) -> str:
        """Return the title."""
        return self.step.title

    @property
    def on_fail(self) -> OnFail:
        """Return how a failure is answered."""
        return self.step.on_fail.value if self.step.on_fail else OnFail()

    @property
    def is_attested(self) -> bool:
        """Whether a person says that it is done."""
        return isinstance(self.step.contract, Attest)


class Layout(NamedTuple):
    """The whole plan."""

    plan: Plan
    slots: tuple[Slot, ...]
    by_id: Mapping[str, int]
    by_name: Mapping[str, int]
    """By number and by the plan's own id, too."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Return the postconditions."""
        return self.plan.postconditions

    def find(self, name: str) -> Slot | None:
        """Return the step of that number or id."""
        place = self.by_name.get(name)
        return None if place is None else self.slots[place]


def lay_out(plan: Plan, ids: Mapping[str, str] | None = None) -> Layout:
    """Return the steps with what each waits for; `ids` are the journal's names by label."""
    labels = {step.label: index for index, step in reversed(list(enumerate(plan.steps)))}
    depends = [
        tuple(labels[label] for label in found if label in labels) for found in plan.dependencies()
    ]
    dependents: list[list[int]] = [[] for _ in plan.steps]
    for index, found in enumerate(depends):
        for other in found:
            dependents[other].append(index)
    slots = tuple(
        Slot(
            place=index,
            id=(ids or {}).get(step.label, step.id),
            step=step,
            depends=depends[index],
            dependents=tuple(dependents[index]),
            touches=_touches(plan, step),
        )
        for index, step in enumerate(plan.steps)
    )
    by_id = {slot.id: slot.place for slot in slots}
    by_name = {slot.step.id: slot.place for slot in slots} | by_id
    return Layout(plan, slots, by_id, by_name | {slot.label: slot.place for slot in slots})


def needed_by(
    plan: Plan, labels: Collection[str], settled: Collection[str] = ()
) -> tuple[Step, ...]:
    """Return the steps that declare to depend on some of these, however far.

    These cannot do without them. A step that only follows in the file can, and what is settled
    needs nobody any more.
    """
    gone = set(labels)
    found: set[str] = set()
    more = True
    while more:
        more = False
        for step in plan.steps:
            if step.label in gone or step.label in settled:
                continue
            if any(item.value in gone for item in step.depends or ()):
                gone.add(step.label)
                found.add(step.label)
                more = True
    return tuple(step for step in plan.steps if step.label in found)


def _touches(plan: Plan, step: Step) -> tuple[Glob, ...] | None:
    found = plan.touches_of(step)
    if step.touches is None and not found:
        return None
    return tuple(parse_glob(item.value) for item in found)


def are_disjoint(one: Slot, other: Slot) -> bool:
    """Say whether two steps can never change the same file."""
    if one.touches is None or other.touches is None:
        return False
    return not any(first.intersects(second) for first in one.touches for second in other.touches)
