"""What people decided about a plan: which text was approved, and when that holds no longer."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct, field

from planbound.journal.event import (
    Event,
    EventKind,
    ExecutionComplete,
    ExecutionStarted,
    FinalizationAccepted,
    GateApproved,
    GateRejected,
    PlanAmended,
    PlanCreated,
    PlanEdited,
    PlanRewritten,
    PlanVerified,
    RunOutcome,
    digest_of,
    run_of,
)
from planbound.journal.fields import was_redacted
from planbound.journal.record import Record
from planbound.journal.words import Method
from planbound.plan.model import PlanStatus

# -- an approval, and when it holds no longer ----------------------------------------------------


class Approval(NamedTuple):
    """Somebody's yes to exactly one plan, judged by exactly these judges."""

    nonce: str
    digest: str
    judges: Mapping[str, str]
    configuration: str
    by: str
    method: Method
    expires: str | None = None
    """In UTC, as the journal writes times."""
    modifications: tuple[str, ...] = ()
    project: str | None = None
    """The repository that it was given in; None in records that are older than that."""
    policy: str | None = None
    tools: Mapping[str, str] | None = None
    """The programs that contracts call, with version and place; None in older records."""
    gates: tuple[str, ...] = ()
    """Patterns of what it may change of the gates of a branch."""


class CurrentPlan(NamedTuple):
    """How things are when an approval is looked at."""

    digest: str
    judges: Mapping[str, str]
    configuration: str
    now: str
    project: str | None = None
    used: str | None = None
    """The run that consumed the approval, unless it is the one that asks."""
    tools: Mapping[str, str] | None = None
    """None: not looked at."""


class GivenNo(NamedTuple):
    """Somebody's no to exactly one plan."""

    digest: str | None
    """None in records that do not say it: whatever the plan is."""
    by: str | None
    reason: str

    @property
    def words(self) -> str:
        """Who said no, and why, as every view tells it."""
        by, why = f" by {self.by}" if self.by else "", " ".join(self.reason.split())
        return f"rejected{by}: {why}" if why else f"rejected{by}, without a reason"


def approval_of(event: GateApproved) -> Approval | None:
    """Return the approval that an event tells; None where it is not whole."""
    nonce, digest, judges = event.nonce, event.digest, event.judges
    configuration, by, method = event.configuration, event.by, event.method
    if nonce is None or digest is None or judges is None:
        return None
    if configuration is None or by is None or method is None:
        return None
    return Approval(
        nonce=nonce,
        digest=digest,
        judges=judges,
        configuration=configuration,
        by=by,
        method=method,
        expires=event.expires,
        modifications=event.modifications,
        project=event.project,
        policy=event.policy,
        tools=event.tools,
        gates=event.gates or (),
    )


def takes_back(event: PlanRewritten) -> bool:
    """Say whether an event takes an approval back for good.

    Whoever rewrites a plan at the gate decides about it. What the session of an agent rewrote or
    found changed is another text, for which the approval does not hold: if it is undone, it does.
    """
    return event.session is None


def is_noticed(event: Event) -> bool:
    """Say whether an event is a `PLAN_REWRITTEN` that only tells that a file was changed.

    The session of an agent found it so, and nobody knows by whom: nothing was decided, and if it
    is undone, everything is as it was.
    """
    return isinstance(event, PlanRewritten) and event.session is not None and event.by is None


def mismatch(approval: Approval, current: CurrentPlan) -> str | None:
    """Return why an approval does not hold, None where it does."""
    return next(_mismatches(approval, current), None)


def _mismatches(approval: Approval, current: CurrentPlan) -> Iterator[str]:
    """Yield every reason, the one that says most first."""
    known = approval.project is not None and current.project is not None
    if known and approval.project != current.project:
        yield f"other repository: it was given in {approval.project}, this is {current.project}"
    if current.used is not None:
        yield f"already used: run {current.used} has it"
    if lost := _lost(approval, current):
        yield (
            f"its record is not whole: {lost} was taken for a secret when it was written,"
            " so nobody can tell what was approved"
        )
    if approval.digest != current.digest:
        yield f"digest changed: {approval.digest[:12]} was approved, this is {current.digest[:12]}"
    if approval.configuration != current.configuration:
        yield "configuration changed: contracts would run otherwise than was approved"
    for path in sorted({*approval.judges, *current.judges}):
        if approval.judges.get(path) != current.judges.get(path):
            yield f"judge changed: {path}"
    if approval.tools is not None and current.tools is not None:
        changed = list(_changed_tools(approval.tools, current.tools))
        if changed:
            yield f"judge changed: {', '.join(changed)}"
    # Both are in UTC and written alike.
    if approval.expires is not None and approval.expires <= current.now:
        yield f"expired: it held until {approval.expires}"


def _lost(approval: Approval, current: CurrentPlan) -> str | None:
    """Return what is missing from a record of an older version, which hid more than secrets."""
    for path, content in approval.judges.items():
        hidden = was_redacted(content) or (was_redacted(path) and path not in current.judges)
        if hidden and current.judges.get(path) != content:
            return f"the digest of the judge `{path}`"
    for name in ("digest", "configuration"):
        if was_redacted(getattr(approval, name)):
            return f"the digest of the {'plan' if name == 'digest' else name}"
    return None


def _changed_tools(approved: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yield the programs that are not those which were approved, and how they changed."""
    for name in sorted(approved):
        before, after = approved[name], now.get(name, "gone")
        if before != after:
            versions = [text.partition(" ")[0] for text in (before, after)]
            shown = versions if versions[0] != versions[1] else [before, after]
            yield f"{name} {shown[0]} → {shown[1]}"


# -- the part of a plan's state: what was decided, about which text, and what came of it ---------


_BY_HAND = {
    EventKind.TASK_STARTED: PlanStatus.IN_PROGRESS,
    EventKind.TASK_COMPLETED: PlanStatus.IN_PROGRESS,
    EventKind.TASK_BLOCKED: PlanStatus.IN_PROGRESS,
    EventKind.TASK_REOPENED: PlanStatus.IN_PROGRESS,
    EventKind.FINALIZATION_CAPPED: PlanStatus.FAILED,
    EventKind.SESSION_RELEASED: PlanStatus.FAILED,
}
"""What an agent in the loop comes to, by the text that the journal saw last."""
_SEEING = frozenset(
    {
        EventKind.PLAN_CREATED,
        EventKind.PLAN_EDITED,
        EventKind.PLAN_REWRITTEN,
        EventKind.PLAN_AMENDED,
        EventKind.PLAN_STAGED,
        EventKind.PLAN_ACTIVATED,
        EventKind.PLAN_ARCHIVED,
        EventKind.GATE_APPROVAL_REQUESTED,
        EventKind.GATE_APPROVED,
        EventKind.GATE_REJECTED,
        EventKind.EXECUTION_STARTED,
    }
)
"""What is about the text in the file; what a run tells later is about what it began with."""
KINDS = (
    *_SEEING,
    *_BY_HAND,
    EventKind.PLAN_VERIFIED,
    EventKind.EXECUTION_COMPLETE,
    EventKind.FINALIZATION_ACCEPTED,
)
"""The events that matter here."""
_UNDER_WAY = frozenset({PlanStatus.APPROVED, PlanStatus.IN_PROGRESS})


class ApprovalState(Struct):
    """What was decided about a plan, and what came of that."""

    decided_status: PlanStatus = PlanStatus.DRAFT
    """Where that has led: for the text `decided`, and no other."""
    decided: str | None = None
    """The digest of that text; None: no event says it."""
    given: Approval | None = None
    """The last approval, unless something has overruled it or its record is not whole."""
    approved: str | None = None
    """The digest that a person approved last, and did not take back."""
    rejected: GivenNo | None = None
    """What a person said no to last, unless something was decided since."""
    used: dict[str, str] = field(default_factory=dict)
    """By the nonce of each approval the run that has it."""
    driven: bool = False
    """Whether a run has used the last approval."""
    verified: set[str | None] = field(default_factory=set)
    """The digests of the texts that were verified without an error since it was approved."""
    digest: str | None = None
    """Of the text that the journal saw last."""
    seen: int = 0
    """The number of the event by which it was seen."""
    edited: bool = False
    """Whether that was seen because somebody had changed the file."""
    task_count: int | None = None
    capped: bool = False
    """Whether an agent in the loop stopped before it was done, and nobody went on."""

    def status(self, digest: str | None) -> PlanStatus:
        """Return where the plan is whose file means `digest` now."""
        if self.decided_status is not PlanStatus.DRAFT and self.decided in {None, digest}:
            return self.decided_status
        return PlanStatus.VERIFIED if digest in self.verified else PlanStatus.DRAFT

    def rejection(self, digest: str | None) -> GivenNo | None:
        """Return the no that stands about the plan whose file means `digest` now."""
        found = self.rejected
        return found if found is not None and found.digest in {None, digest} else None

    def apply(self, record: Record, event: Event) -> None:
        """Add one event of `KINDS`."""
        kind = record.kind
        if kind in _BY_HAND:
            self._by_hand(kind, event)
            return
        told = _told(event) if kind in _SEEING else None
        if told is not None:
            self._see(told, record)
        match event:
            case PlanCreated() | PlanVerified() | ExecutionStarted() if (
                event.task_count is not None
            ):
                self.task_count = event.task_count
        self._decided(record, event)

    def _by_hand(self, kind: EventKind, event: Event) -> None:
        # A run goes on about the text that it began with, whatever is in the file since.
        about = self.decided if run_of(event) is not None else self.digest
        self._decide(_BY_HAND[kind], about)
        if kind is EventKind.TASK_STARTED:
            self.capped = False
        elif kind is EventKind.FINALIZATION_CAPPED:
            self.capped = True

    def _decided(self, record: Record, event: Event) -> None:
        match event:
            case PlanVerified() if not event.errors:
                self._see(event.digest, record)
                self.verified.add(self.digest)
            case PlanRewritten():
                self._rewritten(event)
            case PlanAmended():
                self._take_back(event.digest)
            case GateRejected():
                self._take_back(event.digest)
                self.rejected = GivenNo(event.digest, event.by, event.reason)
            case GateApproved():
                self._decide(PlanStatus.APPROVED, event.digest)
                self.given = approval_of(event)
                self.approved, self.rejected, self.driven = self.decided, None, False
                self.verified = {self.decided}
            case ExecutionStarted():
                self._decide(PlanStatus.IN_PROGRESS, event.digest or self.decided)
                self.driven = True
                self.used.setdefault(event.nonce, event.run)
            case ExecutionComplete():
                self._completed(event)
            case FinalizationAccepted():
                ended = PlanStatus.FINISHED_BLOCKED if event.blocked else PlanStatus.DONE
                self._decide(ended, event.digest or self.digest)

    def _see(self, digest: str | None, record: Record) -> None:
        self.digest, self.seen = digest, record.seq
        self.edited = record.kind is EventKind.PLAN_EDITED or is_noticed(record.event)

    def _decide(self, decided_status: PlanStatus, digest: str | None) -> None:
        self.decided_status, self.decided = decided_status, digest

    def _rewritten(self, event: PlanRewritten) -> None:
        if takes_back(event):
            self._take_back(None)
        elif self.decided is None:
            self._decide(PlanStatus.DRAFT, None)
        elif not (is_noticed(event) or self.driven or self.decided_status in _UNDER_WAY):
            # An agent in the loop goes on with what had ended.
            begun = PlanStatus.DRAFT if self.approved is None else PlanStatus.APPROVED
            self._decide(begun, self.approved)

    def _take_back(self, digest: str | None) -> None:
        """Make a draft of it, whatever the text says."""
        self._decide(PlanStatus.DRAFT, None)
        self.given, self.approved, self.rejected, self.driven = None, None, None, False
        self.verified.discard(digest)
        self.verified.discard(self.digest)

    def _completed(self, event: ExecutionComplete) -> None:
        ended = self._end(event)
        if ended is PlanStatus.DRAFT:
            self.verified.discard(self.decided)
        self._decide(ended, self.decided)

    def _end(self, event: ExecutionComplete) -> PlanStatus:
        """Return what a run came to: a limit or a missing step is no completion."""
        settled = event.completed + event.skipped + event.waived
        settled += (event.holds or 0) + (event.attested or 0)
        missing = self.task_count is not None and settled < self.task_count
        if event.status is RunOutcome.REVISED:
            return PlanStatus.DRAFT
        if event.status is RunOutcome.CANCELLED:
            return PlanStatus.CANCELLED
        short = event.status in {RunOutcome.FAILED, RunOutcome.INCOMPLETE}
        if event.failed or self.capped or missing or short:
            return PlanStatus.FAILED
        return PlanStatus.DONE_WITH_SKIPS if event.skipped else PlanStatus.DONE


def _told(event: Event) -> str | None:
    """Return the digest of the text that an event is about."""
    if isinstance(event, PlanEdited | PlanRewritten):
        return event.to
    return (event.to if isinstance(event, PlanAmended) else None) or digest_of(event)
