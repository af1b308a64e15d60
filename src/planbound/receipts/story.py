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
    VerdictKind,
    Waived,
    number_of,
    subject_of,
)
from planbound.journal.record import Provenance, Record
from planbound.journal.words import SubjectKind
from planbound.plan.model import Condition, Plan, Step, StepStatus
from planbound.receipts.conversation import QuestionStory, questions_of
from planbound.receipts.costs import AttemptCost, RunBudget, attempts, budgets
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
        return self.word in _SETTLED

    @property
    def is_pass(self) -> bool:
        """Whether the harness itself saw it hold."""
        return self.word in {"proved", "holds"}

    @property
    def verdict(self) -> TellingEvent | None:
        """The last verdict of its contract."""
        found = [each for each in self.later if isinstance(each.event, ContractEvaluated)]
        for attempt in self.attempts:
            found += [each for each in attempt.told if isinstance(each.event, ContractEvaluated)]
        return max(found, key=lambda each: each.seq, default=None)


_SETTLED = frozenset("proved holds claimed attested waived skipped".split())


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
    earlier: int
    """How many events are those of another plan that had the name before."""

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
    conditions = _ConditionStories(state, by_condition)
    return PlanStory(
        slug=slug,
        plan=text.plan,
        text_is=text.text_is,
        state=state,
        status=text.status,
        preconditions=conditions.stories(SubjectKind.PRECONDITION, text.plan.preconditions),
        steps=_told_apart(
            _step_story(slot, step, by_task.get(slot.id, []))
            for slot, step in zip(run.layout.slots, run.steps, strict=True)
        ),
        postconditions=conditions.stories(SubjectKind.POSTCONDITION, text.plan.postconditions),
        gate=tuple(_at_gate(own)),
        questions=tuple(questions_of(own, state)),
        costs=tuple(attempts(own)),
        budget=budgets(own).get(slug),
        records=own,
        earlier=begun,
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


def _step_story(slot: Slot, step: StepState, told: Sequence[TellingEvent]) -> ItemStory:
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
        word=_word(step.status),
        reason=_why(step),
        looks=tuple(looks),
        attempts=tuple(tries),
        later=tuple(later),
    )


def _word(status: StepStatus) -> str:
    return "proved" if status is StepStatus.DONE else status.value


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
    state: PlanState
    told: Mapping[tuple[SubjectKind, str], Sequence[TellingEvent]]

    def stories(
        self, subject: SubjectKind, conditions: Iterable[Condition]
    ) -> tuple[ItemStory, ...]:
        return _told_apart(self._story(subject, each) for each in conditions)

    def _story(self, subject: SubjectKind, condition: Condition) -> ItemStory:
        number = str(condition.number)
        told = self.told.get((subject, number), ())
        word, reason = self._where(subject, number)
        return ItemStory(
            subject=subject,
            number=number,
            id=number,
            title=condition.statement,
            item=condition,
            word=word,
            reason=reason,
            looks=tuple(each for each in told if isinstance(each.event, BaselineObserved)),
            later=tuple(each for each in told if not isinstance(each.event, BaselineObserved)),
        )

    def _where(self, subject: SubjectKind, number: str) -> tuple[str, str]:
        """Return where a condition is, by the fold of a run or of an agent in the loop."""
        facts, loop = self.state.run, self.state.session
        is_last = subject is SubjectKind.POSTCONDITION
        if facts.run is None:
            item = (loop.conditions if is_last else loop.preconditions).get(number)
            return ("pending", "") if item is None else (_word(item.status), item.reason)
        answered = facts.answered.get(f"{subject.value} {number}")
        found = answered or (facts.conditions if is_last else facts.preconditions).get(number)
        if found is None:
            return "pending", ""
        if found is not VerdictKind.PASS:
            return found.value, ""
        result = facts.condition_results.get(number) if is_last else Result.HOLDS
        return (result or Result.HOLDS).value, ""


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
