"""What became of a plan, in the order in which a reader asks: from its state and its events.

Where each step is, is what `state/` folds. What is gathered here is only the history beside it:
attempts with their verdicts, what people were asked and said, what deviates from the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from planbound.journal.event import (
    AttemptEnded,
    Attested,
    BaselineObserved,
    ContractEvaluated,
    Event,
    EventKind,
    FailureClassified,
    GateApprovalRequested,
    GateApproved,
    GateRejected,
    PostconditionClaimed,
    PreconditionClaimed,
    RecoveryApplied,
    RecoveryEscalation,
    Result,
    TaskCompleted,
    TaskSkipped,
    TaskStarted,
    Waived,
    number_of,
    subject_of,
)
from planbound.journal.record import Provenance, Record
from planbound.journal.words import SubjectKind
from planbound.judging.case import judge_scope
from planbound.plan.model import Condition, Plan, Step
from planbound.receipts.claims import GREEN, SETTLED
from planbound.receipts.conversation import QuestionStory, questions_of
from planbound.receipts.costs import AttemptCost, RunBudget, attempts, budgets
from planbound.receipts.deviations import WholeRun, agents_of, approval_of, deviations_of
from planbound.receipts.items import FoundItem, ItemSource, found_items
from planbound.receipts.predicate import Deviation, ItemJudge
from planbound.state.plan import PlanState, fold
from planbound.state.run import RunState, Slot, lay_out
from planbound.state.step import StepState, held


class TellingEvent(NamedTuple):
    """An event, and where it stands in the journal."""

    seq: int
    when: str
    event: Event


class AttemptStory(Struct):
    """One attempt at a step."""

    number: int
    begun: str
    agent: str | None = None
    ended: AttemptEnded | None = None
    when: str | None = None
    """When it ended."""
    told: list[TellingEvent] = []
    """What was found, and what was done about it."""


class ItemStory(Struct, frozen=True):
    """A step, a precondition or a postcondition, and all that the harness found about it."""

    subject: SubjectKind
    number: str
    id: str
    """How the journal calls it; its number for a condition."""
    title: str
    item: Step | Condition
    word: str
    """Where it is, in one word."""
    reason: str = ""
    looks: tuple[TellingEvent, ...] = ()
    """Before the work."""
    attempts: tuple[AttemptStory, ...] = ()
    twin: int = 0
    """How many items before it have the same number: the plan is wrong, and shown all the same."""
    later: tuple[TellingEvent, ...] = ()
    """What was found outside of any attempt, and what people decided."""

    @property
    def is_settled(self) -> bool:
        """Whether it needs nothing more, in whatever way."""
        return self.word in SETTLED

    @property
    def is_pass(self) -> bool:
        """Whether the harness itself saw it hold."""
        return self.word in GREEN

    @property
    def name(self) -> str:
        """How it is called: `step 2`."""
        return f"{self.subject.value} {self.number}"

    @property
    def verdict(self) -> TellingEvent | None:
        """The last verdict of its contract."""
        found = [each for each in self.later if isinstance(each.event, ContractEvaluated)]
        for attempt in self.attempts:
            found += [each for each in attempt.told if isinstance(each.event, ContractEvaluated)]
        return max(found, key=lambda each: each.seq, default=None)


class PlanStory(Struct, frozen=True):
    """All that a report tells of a plan."""

    slug: str
    plan: Plan
    text_is: str
    """Which text that is: `as it was approved`, or `as its file reads`."""
    state: PlanState
    status: str
    preconditions: tuple[ItemStory, ...]
    steps: tuple[ItemStory, ...]
    postconditions: tuple[ItemStory, ...]
    gate: tuple[TellingEvent, ...]
    questions: tuple[QuestionStory, ...]
    costs: tuple[AttemptCost, ...]
    budget: RunBudget | None
    records: Sequence[Record]
    """In their order, those of this plan and of no other one that had its name before."""
    deviations: tuple[Deviation, ...]
    """What must not be overlooked."""

    @property
    def items(self) -> tuple[ItemStory, ...]:
        """Everything that is judged, in the order of the plan."""
        return (*self.preconditions, *self.steps, *self.postconditions)


class PlanText(NamedTuple):
    """The plan that a story is about, and how its steps are called in the journal."""

    plan: Plan
    text_is: str
    status: str
    ids: Mapping[str, str]
    contracts: Mapping[str, str | None] = {}
    """By the journal's name of each item its contract's digest; of another nothing counts."""
    judges: Sequence[tuple[ItemJudge, ...]] = ()
    """By what each item is judged, in the order of the plan; empty where nobody knows."""


def story_of(slug: str, text: PlanText, records: Iterable[Record]) -> PlanStory:
    """Return what became of a plan; `records` are all of its slug, in their order."""
    everything = [each for each in records if each.draft.provenance is Provenance.LIVE]
    state = fold(everything).get(slug) or PlanState(slug)
    begun = begun_anew(everything)
    own = everything[begun:]
    run = RunState(lay_out(text.plan, text.ids), state)
    by_task: dict[str, list[TellingEvent]] = {}
    by_condition: dict[tuple[SubjectKind, str], list[TellingEvent]] = {}
    for record in own:
        told, event = TellingEvent(record.seq, record.draft.timestamp, record.event), record.event
        if record.draft.task_id is not None:
            by_task.setdefault(record.draft.task_id, []).append(told)
        elif (about := _condition_of(event)) is not None:
            by_condition.setdefault(about, []).append(told)
    source = ItemSource(run, own, text.contracts, text.judges)
    found = found_items(source, str)
    steps = [each for each in found if each.place.case.subject is SubjectKind.STEP]
    conditions = _ConditionStories(found, by_condition)
    loop = source.loop and state.session.session is not None
    whole = WholeRun(found, own, judge_scope(text.plan), approval_of(own, state),
                     agents_of(own), loop, begun)  # fmt: skip
    return PlanStory(
        slug=slug,
        plan=text.plan,
        text_is=text.text_is,
        state=state,
        status=text.status,
        preconditions=conditions.stories(SubjectKind.PRECONDITION, text.plan.preconditions),
        steps=_told_apart(
            _step_story(slot, step, each, by_task.get(slot.id, []))
            for slot, step, each in zip(run.layout.slots, run.steps, steps, strict=True)
        ),
        postconditions=conditions.stories(SubjectKind.POSTCONDITION, text.plan.postconditions),
        gate=tuple(_at_gate(own)),
        questions=tuple(questions_of(own, state)),
        costs=tuple(attempts(own)),
        budget=budgets(own).get(slug),
        records=own,
        deviations=deviations_of(whole, str),
    )


def _told_apart(items: Iterable[ItemStory]) -> tuple[ItemStory, ...]:
    seen: Counter[str] = Counter()
    found = []
    for item in items:
        found.append(replace(item, twin=seen[item.number]) if seen[item.number] else item)
        seen[item.number] += 1
    return tuple(found)


_TAKES_THE_NAME = frozenset({EventKind.PLAN_STAGED, EventKind.PLAN_ACTIVATED})


def begun_anew(records: Sequence[Record]) -> int:
    """Return where the events of this plan begin: another one may have had its name before.

    That is where `PlanState` forgets what was before.
    """
    place, archived = 0, False
    for at, record in enumerate(records):
        kind = record.kind
        if kind is EventKind.PLAN_CREATED or (archived and kind in _TAKES_THE_NAME):
            place, archived = at, False
        elif kind is EventKind.PLAN_ARCHIVED:
            archived = True
    return place


# -- steps ---------------------------------------------------------------------------------------


def _step_story(
    slot: Slot, step: StepState, found: FoundItem, told: Sequence[TellingEvent]
) -> ItemStory:
    looks: list[TellingEvent] = []
    tries: list[AttemptStory] = []
    later: list[TellingEvent] = []
    under_way = False
    for each in told:
        match each.event:
            case BaselineObserved():
                looks.append(each)
            case TaskStarted() as event:
                tries.append(AttemptStory(event.attempt, each.when, event.agent))
                under_way = True
            case AttemptEnded() as event if tries:
                tries[-1].ended, tries[-1].when = event, each.when
            case Waived() | Attested() | TaskSkipped() | RecoveryEscalation():
                later.append(each)
            case ContractEvaluated(final=True):
                later.append(each)
            case _ if under_way:
                tries[-1].told.append(each)
                under_way = not isinstance(each.event, TaskCompleted)
            case _:
                later.append(each)
    return ItemStory(
        subject=SubjectKind.STEP,
        number=slot.label,
        id=slot.id,
        title=slot.title,
        item=slot.step,
        word=found.item.result,
        reason=_why(step),
        looks=tuple(looks),
        attempts=tuple(tries),
        later=tuple(later),
    )


def _why(step: StepState) -> str:
    if step.reason:
        return step.reason
    if step.trouble is not None and not step.status.is_settled:
        return step.trouble.error
    return "" if step.status.is_settled else step.feedback.reason if step.feedback else ""


# -- conditions ----------------------------------------------------------------------------------


def _condition_of(event: Event) -> tuple[SubjectKind, str] | None:
    """Return which condition an event is about."""
    number = number_of(event)
    if isinstance(event, PreconditionClaimed):
        return SubjectKind.PRECONDITION, event.number
    if isinstance(event, PostconditionClaimed):
        return SubjectKind.POSTCONDITION, event.number
    subject = subject_of(event)
    if subject is None or number is None or subject.value == SubjectKind.STEP.value:
        return None
    return (SubjectKind(subject.value), number) if subject.value in _CONDITIONS else None


_CONDITIONS = frozenset({SubjectKind.PRECONDITION.value, SubjectKind.POSTCONDITION.value})


class _ConditionStories(NamedTuple):
    found: Sequence[FoundItem]
    told: Mapping[tuple[SubjectKind, str], Sequence[TellingEvent]]

    def stories(
        self, subject: SubjectKind, conditions: Iterable[Condition]
    ) -> tuple[ItemStory, ...]:
        found = (each for each in self.found if each.place.case.subject is subject)
        return _told_apart(
            self._story(subject, each, of) for each, of in zip(conditions, found, strict=True)
        )

    def _story(self, subject: SubjectKind, condition: Condition, found: FoundItem) -> ItemStory:
        number = str(condition.number)
        told = self.told.get((subject, number), ())
        return ItemStory(
            subject=subject,
            number=number,
            id=number,
            title=condition.statement,
            item=condition,
            word=found.item.result,
            reason=found.place.reason or "",
            looks=tuple(each for each in told if isinstance(each.event, BaselineObserved)),
            later=tuple(each for each in told if not isinstance(each.event, BaselineObserved)),
        )


# -- the gate, and what people were asked --------------------------------------------------------


_GATE = (GateApproved, GateRejected, GateApprovalRequested)


def _at_gate(records: Iterable[Record]) -> Iterator[TellingEvent]:
    for record in records:
        if isinstance(record.event, _GATE):
            yield TellingEvent(record.seq, record.draft.timestamp, record.event)


def said_of(each: TellingEvent) -> str:
    """Return in words what was found or done in an attempt, besides verdicts."""
    match each.event:
        case FailureClassified() as event:
            return f"taken for {event.failure_type.value}"
        case RecoveryApplied() as event:
            count = f" {event.retry} of {event.of}" if event.retry and event.of else ""
            return f"recipe {event.recipe_name}{count}: {event.outcome.value}"
        case TaskCompleted() as event:
            return held(event.reason) if event.result is Result.HOLDS else event.result.value
        case _:
            return ""
