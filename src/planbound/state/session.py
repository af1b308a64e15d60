"""What an agent in the loop has come to: the part of a plan's state that its tools and hooks read.

It answers to what becomes of the plan's text, to the gate, to steps and conditions, and to an
agent's last word.
"""

from __future__ import annotations

from msgspec.structs import replace

from planbound.journal.event import (
    AttemptEnded,
    Attested,
    BaselineObserved,
    ContractEvaluated,
    Event,
    FinalizationAccepted,
    FinalizationCapped,
    FinalizationDeferred,
    FinalizationRejected,
    GateApprovalRequested,
    GateApproved,
    GateClarificationAsked,
    GateRejected,
    PlanAmended,
    PlanCreated,
    PlanRewritten,
    PostconditionBlocked,
    PostconditionClaimed,
    PreconditionClaimed,
    Result,
    SessionOutcome,
    SessionReleased,
    TaskBlocked,
    TaskCompleted,
    TaskReopened,
    TaskStarted,
    VerdictKind,
    Waived,
)
from planbound.journal.fields import ProbeCall
from planbound.journal.record import Record
from planbound.journal.words import SubjectKind
from planbound.plan.model import StepStatus
from planbound.state.approval import is_noticed
from planbound.state.item import (
    Deferrals,
    Dropped,
    EarlierTexts,
    Item,
    Kept,
    KnownText,
    Said,
    start_claimed,
    start_judged,
)
from planbound.state.owner import KINDS as OF_OWNER
from planbound.state.owner import TOOLS, Owner
from planbound.state.step import Before, Look, completed_as, why_held

"""How a session may end besides being done."""


_DECIDED = frozenset({StepStatus.BLOCKED, StepStatus.WAIVED, StepStatus.ATTESTED})
"""What a contract that fails does not change: somebody said why."""


class LoopState:
    """What has become of one plan in the loop."""

    def __init__(self) -> None:
        self.steps: dict[str, Item] = {}
        self.conditions: dict[str, Item] = {}
        self.preconditions: dict[str, Item] = {}
        self.dropped: list[Dropped] = []
        self.revision = 0
        self.digest: str | None = None
        """Of the text that the events are about."""
        self.text: str | None = None
        """Where that text is kept."""
        self.manifest: str | None = None
        """Where the tree is kept as it was before the work."""
        self.looks: dict[str, Before] = {}
        """By the id of a step, or as `postcondition 2`: how its contract was before the work."""
        self.probes: dict[str, ProbeCall] = {}
        """By the name of an item what the harness looks at itself."""
        self.origin: str | None = None
        self.session: str | None = None
        self.approved: str | None = None
        """The digest that a person approved, until the plan is another."""
        self.asked = False
        """Whether a person is asked to approve it."""
        self.rejected: str | None = None
        """Why a person said no."""
        self.refusals = 0
        """How often in a row the last word was refused, without progress."""
        self.all_refusals = 0
        self.refused_tree: str | None = None
        self.broken = 0
        """How often in a row the gate itself could not tell."""
        self.outcome: SessionOutcome | None = None
        """How it ended: accepted, capped, released."""
        self.before: str | None = None
        """The digest before the last rewrite."""
        self.rewritten = 0
        """The number of the event by which the tools rewrote it, where that was the last change."""
        self.owner = Owner()
        self.was_changed = False
        """Whether a plan of people was changed by unknown hands since its approval."""
        self.ended_by = ""
        """Who ended it, and why, where a person did."""
        self.seq, self.deferred = 0, Deferrals()
        self._colours: dict[str, tuple[Look, str | None, str | None]] = {}
        """What contracts said at the gate, of which plan, and where that tree is kept."""
        self._sanctioned: str | None = None
        """The digest that a person approved last, and did not take back."""
        self._reached: set[tuple[str, StepStatus]] = set()
        """Where each item has been already: to be there again is no progress."""
        self._meanings: set[str | None] = set()
        """What the plan has meant already."""
        self._past = EarlierTexts()

    def begun_anew(self) -> LoopState:
        """Return what stays where the plan is another one: who had a hand in it."""
        found = LoopState()
        found.owner = self.owner
        return found

    @property
    def by_people(self) -> bool:
        """Whether people had a hand in it: it needs their approval, where their plans do."""
        return self.owner.people

    @property
    def owes_yes(self) -> bool:
        """Whether a person was asked, or said no, and nobody said yes since."""
        return self.owner.owes_yes

    @property
    def is_open(self) -> bool:
        """Whether an agent still owes something."""
        return self.revision > 0 and self.outcome is None

    @property
    def is_over(self) -> bool:
        """Whether it came to an end that no agent can change."""
        return self.outcome is not None and self.outcome.is_final

    @property
    def is_owed(self) -> bool:
        """Whether it is owed even where its file is gone: the text is known."""
        return self.outcome is None and self.text is not None

    @property
    def is_known(self) -> bool:
        """Whether an agent in the loop has, or may have, anything to do with it."""
        begun = self.steps or self.conditions or self.all_refusals
        return bool(self.text is not None or begun or self.approved is not None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopState) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def apply(self, record: Record, event: Event) -> None:
        """Add one event of the plan."""
        self.seq = record.seq
        self._work(record, event)
        if record.draft.kind in OF_OWNER:
            ended = self.is_over
            known = (self.digest, self.before)
            self.owner = self.owner.after(record, ended=ended, known=known)

    def _work(self, record: Record, event: Event) -> None:
        match event:
            case ContractEvaluated():
                self._evaluated(record, event)
            case TaskStarted():
                self._started(record, event)
            case TaskCompleted():
                self._completed(record, event)
            case BaselineObserved():
                self._looked(record, event)
            case AttemptEnded():
                pass  # before all others that say nothing of it: every step of a run has one
            case TaskBlocked():
                self._blocked(record, event)
            case TaskReopened():
                self._reopened(record, event)
            case PreconditionClaimed(number=number):
                item = self.preconditions.get(number, Item())
                self._start(number, start_claimed(item, event))
            case PostconditionClaimed(number=number):
                self._condition(number, StepStatus.CLAIMED, evidence=event.evidence)
            case PostconditionBlocked(number=number):
                self._condition(number, StepStatus.BLOCKED, reason=event.reason)
            case Waived() | Attested():
                self._settled_by_person(record, event)
            case _:
                self._plan(record, event)

    def _plan(self, record: Record, event: Event) -> None:
        match event:
            case PlanCreated():
                self._created(event)
            case PlanRewritten() | PlanAmended():
                self._rewritten(record, event)
            case GateApprovalRequested() | GateClarificationAsked():
                answered = isinstance(event, GateClarificationAsked) and event.answer is not None
                self.asked = not answered
                self._past.go_on()
            case GateApproved():
                self._approved(event)
            case GateRejected():
                self._rejected_by(event)
            case _:
                self._last_word(record, event)

    def _last_word(self, record: Record, event: Event) -> None:
        match event:
            case FinalizationDeferred():
                self.deferred = self.deferred.once_more(record.draft.timestamp)
            case FinalizationRejected():
                self._refused(event)
            case FinalizationAccepted():
                self.outcome = event.outcome or SessionOutcome.DONE
                self._past.go_on()
            case FinalizationCapped():
                self.outcome = SessionOutcome.INCOMPLETE
                self._past.go_on()
            case SessionReleased():
                self.outcome = SessionOutcome.RELEASED
                self._past.go_on()
                self.ended_by = f"by {event.by}: {event.reason or 'no reason'}"

    # -- the plan ------------------------------------------------------------------------------

    def _created(self, event: PlanCreated) -> None:
        seq, owner = self.seq, self.owner
        self.__init__()  # type: ignore[misc]  # another plan by the same name
        self.seq, self.owner = seq, owner
        self.revision = 1
        self.digest, self.text = event.digest, event.text
        self.origin, self.session = event.origin, event.session
        self.manifest = event.manifest
        self._meanings = {self.digest}
        self.probes = event.probes or {}

    def _rewritten(self, record: Record, event: PlanRewritten | PlanAmended) -> None:
        # An amendment tells less: what it does not name is another one.
        told = event if isinstance(event, PlanRewritten) else _AMENDED
        noticed = is_noticed(event)
        past, moment = self._past, self._moment()
        self._past = EarlierTexts()
        kept, before = set(event.kept or ()), self.steps
        revision = None if noticed else event.revision
        self.revision = max(1, self.revision) if revision is None else revision
        # Only what the tools write comes after its record; any other text was in the file first.
        by_tools = told.session is not None and not noticed
        self.before, self.rewritten = self.digest, record.seq if by_tools else 0
        self.digest, self.text = event.to, told.text
        # The very text that a person approved is approved wherever it comes back.
        self.approved = self.digest if self.digest == self._sanctioned else None
        in_session = self.origin != TOOLS and told.session is not None
        self.was_changed = in_session and self._sanctioned is not None and self.approved is None
        self.asked, self.rejected = False, None
        if told.probes is not None:
            self.probes = told.probes
        dropped = told.dropped or {}
        for name, title in dropped.items():
            known = before.get(name) or self.preconditions.get(name.rpartition(" ")[2])
            status = (known or Item()).status
            self.dropped.append(Dropped(name, title, status, self.revision))
        self.steps = {
            name: item if name in kept else self._begun_anew(name, item)
            for name, item in before.items()
            if name not in dropped
        }
        held = set(told.kept_conditions or ())
        self.conditions = {name: item for name, item in self.conditions.items() if name in held}
        same = kept | {f"postcondition {number}" for number in held}
        start = set(told.kept_preconditions or ())
        self.preconditions = {
            name: item for name, item in self.preconditions.items() if name in start
        }
        same |= {f"precondition {number}" for number in start}
        self.looks = {name: look for name, look in self.looks.items() if name in same}
        if self.digest not in self._meanings:
            self._meanings.add(self.digest)
            self._progressed()
        else:
            self._go_on()
        if noticed:
            self._past = past
            back = past.swap((self.before, self.digest), moment, Kept(kept, held, start, same))
            if back is not None:
                self._bring_back(back)

    def _moment(self) -> KnownText:
        said = Said(self.asked, self.rejected, self.outcome)
        known = (dict(self.steps), dict(self.conditions), dict(self.preconditions))
        return KnownText(*known, dict(self.looks), tuple(self.dropped), dict(self.probes), said)

    def _bring_back(self, back: KnownText) -> None:
        """Go on where the plan was before its file was changed: that is undone."""
        self.steps |= back.steps
        self.conditions |= back.conditions
        self.preconditions |= back.preconditions
        self.looks |= back.looks
        self.dropped, self.probes = list(back.dropped), dict(back.probes)
        self._reached |= {(name, item.status) for name, item in back.steps.items()}
        if back.said is not None:
            self.asked, self.rejected, self.outcome = back.said

    def _begun_anew(self, name: str, item: Item) -> Item:
        """Return a step that means something else now: what was said stays, nothing is shown."""
        self._reached = {each for each in self._reached if each[0] != name}
        return Item(evidence=item.evidence, notes=item.notes, attempts=item.attempts)

    def _approved(self, event: GateApproved) -> None:
        self.approved = self._sanctioned = event.digest
        self._past = EarlierTexts()
        self.asked, self.rejected, self.was_changed = False, None, False
        frozen = None
        for name, (look, plan, tree) in self._colours.items():
            if plan == self.approved:
                frozen = tree
                self.looks[name] = self.looks.get(name, Before())._replace(approval=look)
        self._colours = {}
        if self.origin != TOOLS:
            # What people write is watched from its approval on.
            self.digest, self.text = self.approved, event.text
            self.manifest = frozen
        self._progressed()

    def _rejected_by(self, event: GateRejected) -> None:
        self.approved, self.asked, self._sanctioned = None, False, None
        self.rejected = event.reason or "nobody said why"
        self._past.go_on()

    def _looked(self, record: Record, event: BaselineObserved) -> None:
        """Remember how a contract was before the work: the first look counts."""
        name, look = _name(record, event), _look(event)
        if event.baseline is not None:
            self._colours[name] = (look, event.plan_digest, event.manifest)
            return
        before = self.looks.get(name, Before())
        self.looks[name] = before._replace(attempt=before.attempt or look)

    # -- steps and conditions ------------------------------------------------------------------

    def _started(self, record: Record, event: TaskStarted) -> None:
        name, item = self._step(record)
        self._reach(name, StepStatus.IN_PROGRESS)
        self.steps[name] = replace(
            item,
            status=StepStatus.IN_PROGRESS,
            attempts=item.attempts + 1,
            notes=event.notes or item.notes,
        )

    def _completed(self, record: Record, event: TaskCompleted) -> None:
        name, item = self._step(record)
        status = completed_as(event)
        self.steps[name] = replace(
            item,
            status=status,
            evidence=event.evidence or item.evidence,
            notes=event.notes or item.notes,
            reason=(event.reason or "") if status is StepStatus.HOLDS else "",
            output="",
            tree=event.tree or item.tree,
            regressed=False,
        )
        self._reach(name, self.steps[name].status)

    def _blocked(self, record: Record, event: TaskBlocked) -> None:
        name, item = self._step(record)
        self.steps[name] = replace(
            item, status=StepStatus.BLOCKED, reason=event.reason, notes=event.notes or item.notes
        )
        self._reach(name, StepStatus.BLOCKED)

    def _reopened(self, record: Record, event: TaskReopened) -> None:
        name, item = self._step(record)
        self.steps[name] = replace(
            item,
            status=StepStatus.PENDING,
            tree=None,
            passed=None,
            regressed=False,
            reason=event.reason or "",
            notes=event.notes or item.notes,
        )
        self._go_on()

    def _evaluated(self, record: Record, event: ContractEvaluated) -> None:
        """Remember what a contract found; a pass proves a postcondition, a step it does not yet."""
        name, passed = _name(record, event), event.verdict is VerdictKind.PASS
        if event.subject is SubjectKind.PRECONDITION:
            number = str(event.number)
            item, before = self.preconditions.get(number, Item()), self.looks.get(name, Before())
            found = start_judged(item, event, before)
            if found.passed and found != item:
                found = _seen(found, record, event)
            self._start(number, found)
        if not passed and self.looks.get(name, Before()) == Before():
            self.looks[name] = Before(_look(event))  # the first time anybody looked
        if event.subject is SubjectKind.POSTCONDITION:
            self._judged_condition(record, event, str(event.number))
        elif record.draft.task_id is not None and event.subject is SubjectKind.STEP:
            name, item = self._step(record)
            item = _judged(item, record, event)
            if item.status not in _DECIDED and not (passed and item.status.is_green):
                item = replace(item, reason=_why_not(event))
            if item.status.is_green and not passed:
                item = replace(item, status=StepStatus.IN_PROGRESS, regressed=True)
            self.steps[name] = item

    def _judged_condition(self, record: Record, event: ContractEvaluated, number: str) -> None:
        item = _judged(self.conditions.get(number, Item()), record, event)
        if item.passed and not item.status.is_by_person:
            holds = event.result is Result.HOLDS
            status = StepStatus.HOLDS if holds else StepStatus.DONE
            why = why_held(event.baseline) if holds else ""
            item = replace(item, status=status, reason=why, regressed=False)
            self._reach(f"postcondition {number}", status)
        elif item.status not in _DECIDED:
            item = replace(
                item,
                status=StepStatus.PENDING,
                reason=_why_not(event),
                regressed=item.regressed or item.status.is_green,
            )
        self.conditions[number] = item

    def _start(self, number: str, found: Item) -> None:
        """Note where a precondition is."""
        item = self.preconditions.get(number, Item())
        self.preconditions[number] = found
        if found.status is not item.status:
            self._reach(f"precondition {number}", found.status)

    def _condition(
        self, number: str, status: StepStatus, *, evidence: str = "", reason: str = ""
    ) -> None:
        item = self.conditions.get(number, Item())
        self.conditions[number] = replace(
            item,
            status=status,
            evidence=evidence or item.evidence,
            reason=reason,
            output="",
            regressed=False,
        )
        self._reach(f"postcondition {number}", status)

    def _settled_by_person(self, record: Record, event: Waived | Attested) -> None:
        status = StepStatus.ATTESTED if isinstance(event, Attested) else StepStatus.WAIVED
        item = Item(status, reason=f"{status.value} by {event.by}")
        if record.draft.task_id is not None:
            self.steps[record.draft.task_id] = item
        elif event.subject is SubjectKind.POSTCONDITION:
            self.conditions[str(event.number)] = item
        elif event.subject is SubjectKind.PRECONDITION:
            self.preconditions[str(event.number)] = item
        self._progressed()

    # -- the last word -------------------------------------------------------------------------

    def _refused(self, event: FinalizationRejected) -> None:
        if event.broken:
            self.broken += 1
            return
        self.refusals = self.refusals + 1 if event.tree == self.refused_tree else 1
        self.all_refusals += 1
        self.refused_tree, self.broken = event.tree, 0

    def _reach(self, name: str, status: StepStatus) -> None:
        """Note where an item is: the first time there is progress, there and back is none."""
        if (name, status) in self._reached:
            self._go_on()
        else:
            self._reached.add((name, status))
            self._progressed()

    def _progressed(self) -> None:
        self.refusals, self.broken, self.refused_tree = 0, 0, None
        self.deferred = Deferrals(in_all=self.deferred.in_all)
        self._go_on()

    def _go_on(self) -> None:
        """Note that what goes on after its end is not at its end, unless a person said so."""
        if self.outcome is not SessionOutcome.RELEASED:
            self.outcome = None
        self._past.go_on()

    def _step(self, record: Record) -> tuple[str, Item]:
        name = record.draft.task_id or ""
        return name, self.steps.get(name, Item())


_AMENDED = PlanRewritten(from_="", to="")
"""What an amendment says of all but its steps: nothing."""


def _name(record: Record, event: BaselineObserved | ContractEvaluated) -> str:
    """Return how `looks` calls what an event is about."""
    return record.draft.task_id or f"{event.subject} {event.number}"


def _judged(item: Item, record: Record, event: ContractEvaluated) -> Item:
    passed = event.verdict is VerdictKind.PASS
    output = "" if passed else event.output_tail or ""
    seen = _seen(item, record, event)
    return replace(seen, tree=event.tree, beyond=event.beyond, passed=passed, output=output)


def _why_not(event: ContractEvaluated) -> str:
    return "" if event.verdict is VerdictKind.PASS else event.reason or event.verdict.value


def _seen(item: Item, record: Record, event: ContractEvaluated) -> Item:
    """Return an item with what a contract said that passed, and when."""
    if event.verdict is not VerdictKind.PASS:
        return item
    return replace(item, saw=event.reason or "", at=record.draft.timestamp)


def _look(event: BaselineObserved | ContractEvaluated) -> Look:
    return Look(event.verdict, event.tree or "", event.contract or "")
