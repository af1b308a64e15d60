"""What came of a recovery: known once the step is proved, fails again, or is asked about."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct, field

from planbound.journal.event import (
    EventKind,
    ExecutionComplete,
    ExecutionStarted,
    GateApproved,
    PlanAmended,
    RecoveryApplied,
    Result,
    RunOutcome,
    VerdictKind,
)
from planbound.journal.record import Draft, Record
from planbound.journal.words import RecoveryResult, SubjectKind
from planbound.plan.model import StepStatus
from planbound.state.step import Look, Raised, Spent, StepState, Use

# -- what came of a recovery: known once the step is proved, fails again, or is asked about ------


class Recovery(Struct, frozen=True):
    """A `RECOVERY_APPLIED` of which nobody knows yet what came of it."""

    id: str
    """The id of the event."""
    run: str
    task: tuple[str, str]
    """The id and the title of the step."""
    number: str
    recipe: str
    attempt: int | None


def recovery_of(record: Record, event: RecoveryApplied) -> Recovery:
    """Return what was done about a failure, of a step that may be gone from the plan."""
    draft = record.draft
    task = draft.task_id or ""
    return Recovery(
        id=draft.id,
        run=str(event.run),
        task=(task, draft.task_name or task),
        number=event.number or "",
        recipe=event.recipe_name,
        attempt=event.attempt,
    )


class Ended(NamedTuple):
    """What came of a recovery, and where in a list of events that has to be said."""

    recovery: Recovery
    outcome: RecoveryResult
    place: int


_BEFORE = {
    EventKind.FAILURE_DETECTED: RecoveryResult.FAILED,
    EventKind.TASK_FAILED: RecoveryResult.FAILED,
    EventKind.BUDGET_EXCEEDED: RecoveryResult.ESCALATED,
    EventKind.RECOVERY_ESCALATION: RecoveryResult.ESCALATED,
}
"""What shows it, and is said after it: a failure and its answer stay together."""
_AFTER = {
    EventKind.TASK_COMPLETED: RecoveryResult.SUCCESS,
    EventKind.TASK_SKIPPED: RecoveryResult.ESCALATED,
    EventKind.WAIVED: RecoveryResult.ESCALATED,
    EventKind.ATTESTED: RecoveryResult.ESCALATED,
}


def ended(pending: Mapping[str, Recovery], drafts: Sequence[Draft]) -> Iterator[Ended]:
    """Yield what events say about recoveries; `pending` are those by step."""
    for task, recovery in pending.items():
        own = [(at, each) for at, each in enumerate(drafts) if each.task_id == task]
        found = _of_step(recovery, own) or _of_run(recovery, drafts)
        if found is not None:
            yield found


def _of_step(recovery: Recovery, own: Sequence[tuple[int, Draft]]) -> Ended | None:
    for at, draft in own:
        if draft.kind in _AFTER:
            return Ended(recovery, _AFTER[draft.kind], at + 1)
        if draft.kind in _BEFORE:
            asks = any(each.kind is EventKind.RECOVERY_ESCALATION for _, each in own)
            outcome = RecoveryResult.ESCALATED if asks else _BEFORE[draft.kind]
            return Ended(recovery, outcome, at)
    return None


def _of_run(recovery: Recovery, drafts: Sequence[Draft]) -> Ended | None:
    """Return that its run is over, or that there is another one."""
    for at, draft in enumerate(drafts):
        event = draft.event
        is_other = isinstance(event, ExecutionStarted) and event.run != recovery.run
        if is_other or isinstance(event, ExecutionComplete):
            return Ended(recovery, RecoveryResult.FAILED, at)
    return None


# -- what is known of a plan's steps and of its run, whatever the plan's file says ---------------


_BY_PEOPLE = frozenset({VerdictKind.WAIVED, VerdictKind.ATTESTED})


class Amended(NamedTuple):
    """A revision that waits for its approval."""

    kept: tuple[str, ...]
    """The steps that stay settled, if exactly this revision is approved."""
    digest: str | None


class RunFacts(Struct):
    """What is known of the steps of a plan and of its run; changed by `apply` alone."""

    steps: dict[str, StepState] = field(default_factory=dict)
    """By the names that the journal has for them; what nothing happened to is not there."""
    moves: int = 0
    """How often something happened to more than the one step that an event is about."""
    uses: dict[str, deque[Use]] = field(default_factory=dict)
    """By role what its last attempts used, in earlier runs of the plan, too."""
    recovering: dict[str, Recovery] = field(default_factory=dict)
    """By step what was done about its last failure, until it is told what came of it."""
    colours: dict[tuple[SubjectKind | None, str], tuple[Look, str | None]] = field(
        default_factory=dict
    )
    """By subject and name what the contracts said at the gate, and of which plan."""
    seen_red: dict[str, Look] = field(default_factory=dict)
    """What an amendment does not make unseen: of steps that are not settled yet."""
    amended: Amended | None = None
    tests: dict[str, str] = field(default_factory=dict)
    """Where the tests of each contract's last baseline are kept in the vault."""
    approved_tests: dict[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    """The numbers of the steps that the approval leaves out, and no event has named yet."""
    stale: set[str] = field(default_factory=set)
    """The steps to which nothing happened since the approval: no run builds upon them."""
    run: str | None = None
    begun_by: str | None = None
    """The version of planbound that began the run."""
    anyway: str | None = None
    """What it depends on and was not proved when somebody ran it all the same."""
    ended: RunOutcome | None = None
    why_ended: str | None = None
    paused: str | None = None
    cancelled: bool = False
    aborted: str | None = None
    revised: bool = False
    preconditions: dict[str, VerdictKind] = field(default_factory=dict)
    """By the number of a precondition what was found in this session."""
    conditions: dict[str, VerdictKind] = field(default_factory=dict)
    """By the number of a postcondition what was found last, `waived` and `attested` too."""
    condition_looks: dict[str, Look] = field(default_factory=dict)
    """By the number of a postcondition what its contract said when the plan was approved."""
    condition_results: dict[str, Result] = field(default_factory=dict)
    """By the number of a postcondition whether it is `proved` or `holds`."""
    condition_trees: dict[str, str] = field(default_factory=dict)
    """By the number of a postcondition the tree on which it was judged last."""
    answered: dict[str, VerdictKind] = field(default_factory=dict)
    """Conditions that a person answers for, as `postcondition 2`: `waived` or `attested`."""
    regressed: set[str] = field(default_factory=set)
    final: dict[str, str] = field(default_factory=dict)
    """By step the tree on which it was judged once more at the end."""
    spent: Spent = Spent()
    raised: Raised = Raised()
    recoveries: int = 0
    tree: str | None = None
    """The last tree that the harness saw, and where it is in the vault."""
    manifest: str | None = None
    earlier: dict[tuple[str, str], set[VerdictKind]] = field(default_factory=dict)
    """By contract and tree the verdicts that were seen."""
    working: int = 0
    """How many steps are being worked on."""
    session: tuple[datetime, datetime] | None = None
    """Since when the run is at work, without the time that it waited, and until when."""
    before_session: float = 0.0

    def session_seconds(self) -> float:
        """Return how long the run was at work, up to its last event."""
        if self.session is None:
            return self.before_session
        begun, last = self.session
        return self.before_session + max(0.0, (last - begun).total_seconds())

    # -- small changes ---------------------------------------------------------------------------

    def note_time(self, stamp: str, run: str | None) -> None:
        """Note that the run was at work until then."""
        if self.session is None or run is None or run != self.run or self.paused:
            return
        self.session = (self.session[0], moment(stamp))

    def stand_still(self, stamp: str) -> None:
        """Count nothing since the last event: waiting for a person is free."""
        assert self.session is not None
        begun, last = self.session
        now = max(last, moment(stamp))
        self.session = (begun + (now - last), now)

    def stop_clock(self) -> None:
        """Count no further: nobody is at work."""
        self.before_session = self.session_seconds()
        self.session = None

    def step_of(self, record: Record) -> StepState | None:
        """Return the step that an event is about; None where it is about the plan."""
        draft = record.draft
        name = draft.task_id
        if name is None:
            return None
        step = self.steps.get(name)
        if step is None:
            step = self.steps[name] = StepState(name, draft.task_name)
        elif draft.task_name is not None:
            step.name = draft.task_name
        return step

    def settle(self, step: StepState, status: StepStatus) -> None:
        """Note where a step is."""
        now, was = status is StepStatus.IN_PROGRESS, step.status is StepStatus.IN_PROGRESS
        if now is not was:
            self.working += 1 if now else -1
        if self.stale:
            self.stale.discard(step.id)
        step.status = status

    def see(self, tree: str | None, manifest: str | None) -> None:
        """Note the tree that the harness saw last."""
        if tree is not None:
            self.tree, self.manifest = tree, manifest

    def forget_end(self) -> None:
        """What was judged at the end is judged anew: the tree will be another one."""
        if self.final:
            self.final = {}
        if self.conditions:
            kept = self.conditions.items()
            self.conditions = {number: found for number, found in kept if found in _BY_PEOPLE}

    # -- another text ----------------------------------------------------------------------------

    def begun_anew(self) -> "RunFacts":
        """Return what stays where the plan is another one by the same name."""
        return RunFacts(uses=self.uses, recovering=self.recovering)

    def _before_run(self, kept: Iterable[str]) -> "RunFacts":
        """Return what stays where the plan is to be approved again, with the steps it keeps."""
        steps = {name: self.steps[name] for name in kept if name in self.steps}
        return RunFacts(
            steps=steps,
            working=_count_working(steps),
            uses=self.uses,
            recovering=self.recovering,
            colours=self.colours,
            seen_red=self.seen_red,
            amended=self.amended,
            tests=self.tests,
            approved_tests=self.approved_tests,
        )

    def replace_steps(self, steps: dict[str, StepState]) -> None:
        """Take the steps of another text."""
        self.steps = steps
        self.working = _count_working(steps)
        self.moves += 1

    def amended_by(self, event: PlanAmended) -> "RunFacts":
        """Return what is known after an amendment: what it keeps, and that nothing runs."""
        kept = event.kept or ()
        red = {
            name: look
            for name, step in self.steps.items()
            for look in (step.baseline, step.approved)
            if look is not None and look.is_red and not step.status.is_settled
        }
        found = self._before_run(kept)
        found.seen_red, found.amended = red, Amended(kept, event.to)
        return found

    def approved_by(self, event: GateApproved, *, by_agent: bool) -> "RunFacts":
        """Return what is known after an approval; `by_agent`: an agent in the loop is at work.

        Only an amendment keeps what a run has settled. What an agent in the loop has settled is
        kept until a run begins: it shows where the agent is, and no run builds upon it.
        """
        amended, digest = self.amended, event.digest
        # What was changed once more since is another plan than the one that keeps its proofs.
        is_amended = amended is not None and amended.digest == digest
        in_loop = by_agent and self.run is None and amended is None
        kept = tuple(self.steps) if in_loop else amended.kept if amended and is_amended else ()
        found = self._before_run(kept)
        if in_loop:
            found.stale = set(kept)
        for name in found.stale:
            found.steps[name].approved = None
        found.left_out = frozenset(_left_out(event.modifications))
        found.approve_looks(digest, self.seen_red if is_amended else {})
        found.amended = None
        return found

    def approve_looks(self, digest: str | None, seen_red: Mapping[str, Look]) -> None:
        """Remember what the contracts said when exactly this plan was approved."""
        for (subject, name), (look, plan) in self.colours.items():
            if plan != digest:
                continue  # a look at another text
            if subject is SubjectKind.POSTCONDITION:
                self.condition_looks[name] = look
            if subject is not SubjectKind.STEP:
                continue
            step = self.steps.get(name) or StepState(name)
            if step.status.is_settled and name not in self.stale:
                continue
            earlier = seen_red.get(name)
            # The work on a step that is not settled began before the plan was amended.
            begun = earlier if earlier and earlier.contract == look.contract else None
            step.approved = look if look.is_red else begun or look
            self.steps[name] = step
        self.colours, self.seen_red = {}, {}


def _count_working(steps: Mapping[str, StepState]) -> int:
    return sum(step.status is StepStatus.IN_PROGRESS for step in steps.values())


def _left_out(changes: Iterable[str]) -> Iterator[str]:
    """Yield the numbers of the steps that somebody left out when they approved the plan."""
    for change in changes:
        word, _, label = change.partition(" ")
        if word == "skip":
            yield label


def moment(stamp: str) -> datetime:
    """Return a time of the journal."""
    return datetime.fromisoformat(stamp)
