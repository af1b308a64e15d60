"""Where a run is: the slots of a plan's text, and a view of its state, with no own fold."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from planbound.journal.event import Result, RunOutcome, VerdictKind
from planbound.journal.record import Record
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import Attest, Condition, OnFail, Plan, Step, StepStatus
from planbound.state.approval import Approval
from planbound.state.plan import PlanState
from planbound.state.question import Question
from planbound.state.run_facts import Amended, Recovery, RunFacts
from planbound.state.run_fold import BLOCKED_RULE
from planbound.state.step import Look, Raised, Spent, StepState, Use

# -- the steps of a plan as a run sees them: numbered, with what each waits for ------------------


class Slot(Struct, frozen=True):
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
        return self.step.label

    @property
    def title(self) -> str:
        return self.step.title

    @property
    def on_fail(self) -> OnFail:
        return self.step.on_fail.value if self.step.on_fail else OnFail()

    @property
    def is_attested(self) -> bool:
        """Whether a person says that it is done."""
        return isinstance(self.step.contract, Attest)


class Layout(Struct, frozen=True):
    """All slots of a plan, and by what names they are found."""

    plan: Plan
    slots: tuple[Slot, ...]
    by_id: Mapping[str, int]
    """The places of the steps, by their ids in the journal."""
    by_name: Mapping[str, int]
    """By number and by the plan's own id, too."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
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
    try:
        return tuple(parse_glob(item.value) for item in found)
    except GlobError:
        return ()  # nobody approves such a plan: it is only looked at


def are_disjoint(one: Slot, other: Slot) -> bool:
    """Say whether two steps can never change the same file."""
    if one.touches is None or other.touches is None:
        return False
    return not any(first.intersects(second) for first in one.touches for second in other.touches)


# -- where a run is, as the text of its plan has it: a view of the plan's state, with no own fold


__all__ = ["BLOCKED_RULE", "MET", "RunState"]
MET = frozenset({VerdictKind.PASS, VerdictKind.WAIVED, VerdictKind.ATTESTED})
"""What a postcondition may have come to at the end of a run that reached everything."""


class RunState:
    """Everything that is decided from: a plan's state, with its steps in their order."""

    def __init__(self, layout: Layout, plan: PlanState) -> None:
        self.layout = layout
        self.plan = plan
        self.steps: list[StepState] = []
        """One for each step of the text, whatever else the journal knows."""
        self._known = self._version()
        self._count()

    # -- the steps in their order ----------------------------------------------------------------

    def _version(self) -> tuple[RunFacts, int]:
        facts = self.plan.run
        return facts, facts.moves

    def _find(self, slot: Slot) -> StepState:
        """Return what is known of a step of the text."""
        facts = self.plan.run
        step = facts.steps.get(slot.id)
        if step is None or slot.id in facts.stale:
            step = StepState(slot.id, approved=step.approved if step else None)
        if slot.label in facts.left_out:
            # The run puts on record what its approval leaves out.
            return StepState(slot.id, status=StepStatus.SKIPPED, approved=step.approved)
        return step

    def _count(self) -> None:
        slots = self.layout.slots
        self.steps = [self._find(slot) for slot in slots]
        self._settled = [step.status.is_settled for step in self.steps]
        self.unsettled = self._settled.count(False)
        self.unmet = [sum(not self._settled[other] for other in slot.depends) for slot in slots]
        self.open = [
            slot.place
            for slot in slots
            if not self.unmet[slot.place] and not self._settled[slot.place]
        ]
        """Sorted: unsettled steps whose dependencies are settled: what can be worked on at all."""

    def apply_all(self, records: Iterable[Record]) -> None:
        """Add what happened, in its order."""
        for record in records:
            self.apply(record)

    def apply(self, record: Record) -> None:
        """Add one event of this plan, and count anew only what it changed."""
        self.plan.apply(record)
        known = self._version()
        if known[0] is not self._known[0] or known[1] != self._known[1]:
            self._known = known
            self._count()
            return
        place = self.layout.by_id.get(record.draft.task_id or "")
        if place is not None:
            self._move(place)

    def _move(self, place: int) -> None:
        """Take in what happened to one step."""
        step = self.steps[place] = self._find(self.layout.slots[place])
        settled = step.status.is_settled
        if settled is self._settled[place]:
            return
        self._settled[place] = settled
        change = -1 if settled else 1
        self.unsettled += change
        for other in self.layout.slots[place].dependents:
            self.unmet[other] += change
            self._open(other)
        self._open(place)

    def _open(self, index: int) -> None:
        place = bisect_left(self.open, index)
        is_open = place < len(self.open) and self.open[place] == index
        wanted = not self.unmet[index] and not self._settled[index]
        if wanted and not is_open:
            self.open.insert(place, index)
        elif is_open and not wanted:
            del self.open[place]

    def failed(self) -> Iterator[int]:
        """Yield the steps that failed for good."""
        return (index for index in self.open if self.steps[index].status is StepStatus.FAILED)

    def count(self, status: StepStatus) -> int:
        return sum(step.status is status for step in self.steps)

    def left_out_with(self, index: int) -> tuple[Slot, ...]:
        """Return the steps that cannot be done where one is skipped: they declare to need it."""
        slots = self.layout.slots
        settled = {slot.label for slot in slots if self._settled[slot.place]}
        held = needed_by(self.layout.plan, (slots[index].label,), settled)
        return tuple(slots[self.layout.by_name[step.label]] for step in held)

    # -- what the plan's state says ----------------------------------------------------------------

    @property
    def seq(self) -> int:
        return self.plan.seq

    @property
    def plan_seq(self) -> int:
        return self.plan.plan_seq

    @property
    def revision(self) -> int:
        return self.plan.revision

    @property
    def approval(self) -> Approval | None:
        return self.plan.approval.given

    @property
    def used(self) -> Mapping[str, str]:
        """By the nonce of each approval the run that has it."""
        return self.plan.approval.used

    @property
    def questions(self) -> Mapping[str, Question]:
        """What the run asks a person."""
        return self.plan.questions.of_run

    @property
    def uses(self) -> Mapping[str, deque[Use]]:
        return self.plan.run.uses

    @property
    def recovering(self) -> Mapping[str, Recovery]:
        return self.plan.run.recovering

    @property
    def amended(self) -> Amended | None:
        return self.plan.run.amended

    @property
    def tests(self) -> Mapping[str, str]:
        return self.plan.run.tests

    @property
    def approved_tests(self) -> Mapping[str, str]:
        return self.plan.run.approved_tests

    @property
    def run(self) -> str | None:
        return self.plan.run.run

    @property
    def begun_by(self) -> str | None:
        return self.plan.run.begun_by

    @property
    def anyway(self) -> str | None:
        return self.plan.run.anyway

    @property
    def ended(self) -> RunOutcome | None:
        return self.plan.run.ended

    @property
    def why_ended(self) -> str | None:
        return self.plan.run.why_ended

    @property
    def paused(self) -> str | None:
        return self.plan.run.paused

    @property
    def cancelled(self) -> bool:
        return self.plan.run.cancelled

    @property
    def aborted(self) -> str | None:
        return self.plan.run.aborted

    @property
    def revised(self) -> bool:
        return self.plan.run.revised

    @property
    def preconditions(self) -> Mapping[str, VerdictKind]:
        return self.plan.run.preconditions

    @property
    def conditions(self) -> Mapping[str, VerdictKind]:
        return self.plan.run.conditions

    @property
    def condition_looks(self) -> Mapping[str, Look]:
        return self.plan.run.condition_looks

    @property
    def condition_results(self) -> Mapping[str, Result]:
        return self.plan.run.condition_results

    @property
    def condition_trees(self) -> Mapping[str, str]:
        return self.plan.run.condition_trees

    @property
    def answered(self) -> Mapping[str, VerdictKind]:
        return self.plan.run.answered

    @property
    def regressed(self) -> set[str]:
        return self.plan.run.regressed

    @property
    def final(self) -> Mapping[str, str]:
        return self.plan.run.final

    @property
    def spent(self) -> Spent:
        return self.plan.run.spent

    @property
    def raised(self) -> Raised:
        return self.plan.run.raised

    @property
    def recoveries(self) -> int:
        return self.plan.run.recoveries

    @property
    def tree(self) -> str | None:
        return self.plan.run.tree

    @property
    def manifest(self) -> str | None:
        return self.plan.run.manifest

    @property
    def earlier(self) -> Mapping[tuple[str, str], set[VerdictKind]]:
        return self.plan.run.earlier

    def session_seconds(self) -> float:
        """Return how long the run was at work, up to its last event."""
        return self.plan.run.session_seconds()
