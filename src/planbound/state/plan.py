"""What the journal says about a plan: one `PlanState`, folded from its events in one pass.

Each part of it stands in a module of its own, which names the events that it answers to:

- `approval`: what people decided, and about which text (`state/approval.py`)
- `steps` and `run`: where each step is, and what a run has come to (`state/run_facts.py`,
  `state/run_fold.py`)
- `session`: what an agent in the loop has come to (`state/session.py`)
- `questions`: what waits for a person (`state/question.py`)
- `place`: its worktree and its merge (`state/place.py`)

Views have no pass of their own. They read a `PlanState`, and where one part is enough,
`plan_states(journal, KINDS)` reads the events of that part alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from msgspec import Struct, field

from planbound.journal.event import (
    EVENTS,
    Event,
    EventKind,
    GateApproved,
    PlanAmended,
    PlanCreated,
    PlanRewritten,
    revision_of,
)
from planbound.journal.record import Journal, Provenance, Query, Record
from planbound.plan.model import PlanStatus, StepStatus
from planbound.state.approval import KINDS as OF_APPROVAL
from planbound.state.approval import ApprovalState, is_noticed
from planbound.state.item import EarlierItems
from planbound.state.place import KINDS as OF_PLACE
from planbound.state.place import TeamState, begun_anew, placed
from planbound.state.question import KINDS as OF_QUESTIONS
from planbound.state.question import Question, Questions
from planbound.state.run_facts import RunFacts
from planbound.state.run_fold import apply as apply_run
from planbound.state.session import LoopState
from planbound.state.step import StepState

# -- one plan, and all of them -------------------------------------------------------------------


_BEGUN = frozenset(
    {
        EventKind.EXECUTION_STARTED,
        EventKind.TASK_STARTED,
        EventKind.TASK_COMPLETED,
        EventKind.TASK_BLOCKED,
    }
)
_TAKES_THE_NAME = frozenset({EventKind.PLAN_STAGED, EventKind.PLAN_ACTIVATED})
"""After the plan of that name was put away, this is another one."""
_TEXTS = frozenset(
    {EventKind.PLAN_CREATED, EventKind.PLAN_AMENDED, EventKind.PLAN_REWRITTEN}
    | {EventKind.GATE_APPROVED}
    | {kind for kind, event in EVENTS.items() if "revision" in event.__struct_fields__}
)
"""What says which text the steps are those of, and which revision that is."""
_APPROVAL, _QUESTIONS, _PLACE = map(frozenset, (OF_APPROVAL, OF_QUESTIONS, OF_PLACE))


class PlanState(Struct):
    """What has become of one plan; `apply` is all that changes it."""

    slug: str
    first: str | None = None
    """When the first event was."""
    approval: ApprovalState = field(default_factory=ApprovalState)
    run: RunFacts = field(default_factory=RunFacts)
    questions: Questions = field(default_factory=Questions)
    session: LoopState = field(default_factory=LoopState)
    place: TeamState = TeamState("")
    revision: int = 1
    started: bool = False
    archived: bool = False
    looped: bool = False
    """Whether agents made it by the tools, so that nothing marks its progress in the file."""
    last: str | None = None
    """When the last event was."""
    last_event: EventKind | None = None
    seq: int = 0
    """The number of the last record, and that within the plan."""
    plan_seq: int = 0
    aside: EarlierItems[StepState] = field(default_factory=EarlierItems)

    def __post_init__(self) -> None:
        if not self.place.plan:
            self.place = TeamState(self.slug)

    # -- reading -------------------------------------------------------------------------------

    @property
    def steps(self) -> dict[str, StepState]:
        """Return the steps, by the names that the journal has for them."""
        return self.run.steps

    @property
    def status(self) -> PlanStatus:
        """Return where it is, if its text is still the one that the journal saw last."""
        return self.approval.status(self.approval.digest)

    @property
    def decided_status(self) -> PlanStatus:
        """Return what was decided about it, and what came of that, whatever its file says now."""
        return self.approval.decided_status

    @property
    def digest(self) -> str | None:
        """Return the digest of the text that the journal saw last."""
        return self.approval.digest

    @property
    def waiting(self) -> str | None:
        """Return what a person is asked, while one is."""
        return self.questions.word

    @property
    def is_under_way(self) -> bool:
        """Whether a run of it has begun, and has not come to its end."""
        begun = self.approval.driven and self.decided_status is PlanStatus.IN_PROGRESS
        return begun and not self.archived

    @property
    def integrated(self) -> bool:
        """Whether its work, as it was approved last, is in the branch that plans merge into."""
        return self.place.integrated is not None

    @property
    def holds(self) -> int:
        """Return how many steps hold and are not proved."""
        return sum(step.status is StepStatus.HOLDS for step in self.steps.values())

    # -- applying ------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Add what happened to the plan next; what did not really happen changes nothing."""
        draft = record.draft
        self.seq, self.plan_seq = record.seq, record.plan_seq
        if draft.provenance is not Provenance.LIVE:
            return
        if self.first is None:
            self.first = draft.timestamp
        kind, event = draft.kind, record.event
        if kind is EventKind.PLAN_CREATED or (self.archived and kind in _TAKES_THE_NAME):
            self._begin_anew(draft.timestamp)
        if kind in _APPROVAL:
            self.approval.apply(record, event)
        if kind in _TEXTS:
            self._text(event)
        apply_run(self.run, record, event, self.questions)
        self.session.apply(record, event)
        if kind in _QUESTIONS:
            self.questions.apply(record, event)
        if kind in _PLACE:
            self.place = placed(self.place, event)
        if kind in _BEGUN:
            self.started = True
        elif kind is EventKind.PLAN_ARCHIVED:
            self.archived = True
        self.last, self.last_event = draft.timestamp, kind

    def _begin_anew(self, first: str) -> None:
        """Forget the plan that had the name before, but for what belongs to the name."""
        fresh = PlanState(
            self.slug,
            first,
            approval=ApprovalState(used=self.approval.used),
            run=self.run.begun_anew(),
            session=self.session.begun_anew(),
            questions=self.questions,
            place=begun_anew(self.place),
            seq=self.seq,
            plan_seq=self.plan_seq,
        )
        for name in self.__struct_fields__:
            setattr(self, name, getattr(fresh, name))

    def _text(self, event: Event) -> None:
        """Note which text the steps are those of."""
        match event:
            case PlanCreated():
                self.looped = event.origin == "tools"
            case PlanAmended():
                self.run = self.run.amended_by(event)
                self.aside.clear()
            case PlanRewritten() if event.kept is not None:
                self._keep(event, event.kept)
            case PlanRewritten() if self.run.run is None and self.run.amended is None:
                self._keep(event, ())  # at the gate: nobody says what means the same
            case GateApproved():
                by_agent = self.looped or self.session.session is not None
                self.run = self.run.approved_by(event, by_agent=by_agent)
                self.aside.clear()
        revision = revision_of(event)
        if revision is not None and not is_noticed(event):
            self.revision = revision

    def _keep(self, event: PlanRewritten, kept: tuple[str, ...]) -> None:
        """Keep the steps that mean the same; a run goes on about the text that it began with."""
        if is_noticed(event) and self.approval.driven:
            return
        before, back = self.steps, dict[str, StepState]()
        if is_noticed(event):
            then = {name: copy(step) for name, step in before.items()}
            back = self.aside.swap((event.from_, event.to), then, kept)
        else:
            self.aside.clear()
        same = {name: step for name, step in before.items() if name in kept}
        self.run.replace_steps(same | back)


def plan_status(state: PlanState | None, digest: str | None) -> PlanStatus:
    """Return where a plan is whose file means `digest` now.

    It is the one answer: what the file is marked with, and what every view shows. Any change of
    the meaning makes a draft of it, and a change that is undone is as if it had never been.
    """
    return PlanStatus.DRAFT if state is None else state.approval.status(digest)


def fold(records: Iterable[Record]) -> dict[str, PlanState]:
    """Return the state of every plan that the records speak of.

    Only what really happened counts: a replay or a test proves nothing.
    """
    plans: dict[str, PlanState] = {}
    for record in records:
        draft = record.draft
        if not draft.plan or draft.provenance is not Provenance.LIVE:
            continue
        plan = plans.get(draft.plan)
        if plan is None:
            plan = plans[draft.plan] = PlanState(draft.plan)
        plan.apply(record)
    return plans


def plan_state(journal: Journal, slug: str, events: tuple[EventKind, ...] = ()) -> PlanState | None:
    """Return what has become of one plan; None where nothing happened to it.

    With the `KINDS` of a part only its events are read, and only that part is told.
    """
    return fold(journal.read(Query(plan=slug, events=events))).get(slug)


def known_plan(journal: Journal | None, slug: str) -> PlanState:
    """Return what has become of one plan; a plan that nothing happened to is a draft."""
    state = plan_state(journal, slug) if journal is not None else None
    return PlanState(slug) if state is None else state


def plan_states(journal: Journal, events: tuple[EventKind, ...] = ()) -> dict[str, PlanState]:
    """Return what has become of every plan; `events` as for one."""
    return fold(journal.read(Query(events=events)))


def questions_of(states: Iterable[PlanState]) -> list[Question]:
    """Return the questions of some plans that nobody has answered, the oldest first."""
    found = [question for state in states for question in state.questions.open.values()]
    return sorted(found, key=lambda question: question.since)


def known_team(journal: Journal | None) -> dict[str, TeamState]:
    """Return what the journal says about every plan's worktree."""
    if journal is None:
        return {}
    return {slug: state.place for slug, state in plan_states(journal, OF_PLACE).items()}


def known_of(journal: Journal | None, slug: str) -> TeamState:
    """Return what the journal says about one plan's worktree."""
    state = plan_state(journal, slug, OF_PLACE) if journal is not None else None
    return state.place if state is not None else TeamState(slug)
