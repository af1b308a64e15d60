"""What the journal says about the plans: state is `fold(events)`, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from planbound.engine.aside import Aside
from planbound.engine.gate.approval import is_noticed, takes_back
from planbound.engine.inbox import all_waits, note, waits_for
from planbound.engine.run.question import Question
from planbound.journal.event import EventKind
from planbound.journal.record import Provenance, Record
from planbound.plan.model import PlanStatus


class TaskState(NamedTuple):
    """Where one step is, by the journal alone."""

    id: str
    name: str | None = None
    status: str = "pending"
    attempts: int = 0
    verdict: str | None = None
    reason: str | None = None
    """Why it holds and is not proved."""


class PlanState(NamedTuple):
    """What has become of one plan."""

    slug: str
    standing: PlanStatus = PlanStatus.DRAFT
    """What was decided about it, and what came of that: for the text `decided`, and no other."""
    decided: str | None = None
    """The digest of that text; None: no event says it."""
    verified: frozenset[str | None] = frozenset()
    """The digests of the texts that were verified without an error since it was approved."""
    digest: str | None = None
    """Of the text that the journal saw last."""
    seen: int = 0
    """The number of the event by which it was seen."""
    edited: bool = False
    """Whether that was seen because somebody had changed the file."""
    revision: int = 1
    tasks: Mapping[str, TaskState] = {}
    waiting: str | None = None
    """What a person is asked, while one is."""
    open_questions: tuple[str, ...] = ()
    """All that a person is asked, where that is more than one thing."""
    started: bool = False
    archived: bool = False
    integrated: bool = False
    """Whether its work, as it was approved last, is in the branch that plans are merged into."""
    looped: bool = False
    """Whether agents made it by the tools, so that nothing marks its progress in the file."""
    first: str | None = None
    """When the first event was."""
    last: str | None = None
    """When the last event was."""
    last_event: EventKind | None = None
    seq: int = 0

    @property
    def status(self) -> PlanStatus:
        """Return where it is, if its text is still the one that the journal saw last."""
        return plan_status(self, self.digest)

    @property
    def holds(self) -> int:
        """Return how many steps hold and are not proved."""
        return sum(task.status == "holds" for task in self.tasks.values())


def plan_status(state: PlanState | None, digest: str | None) -> PlanStatus:
    """Return where a plan is whose file means `digest` now.

    It is the one answer: what the file is marked with, and what every view shows. Any change of
    the meaning makes a draft of it, and a change that is undone is as if it had never been.
    """
    if state is None:
        return PlanStatus.DRAFT
    if state.standing is not PlanStatus.DRAFT and state.decided in {None, digest}:
        return state.standing
    return PlanStatus.VERIFIED if digest in state.verified else PlanStatus.DRAFT


_TASK_STATUS = {
    EventKind.TASK_STARTED: "in-progress",
    EventKind.TASK_COMPLETED: "done",
    EventKind.TASK_FAILED: "failed",
    EventKind.TASK_SKIPPED: "skipped",
    EventKind.TASK_BLOCKED: "blocked",
    EventKind.TASK_REOPENED: "pending",
    EventKind.WAIVED: "waived",
    EventKind.ATTESTED: "attested",
}
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
_BEGUN = frozenset(
    {
        EventKind.EXECUTION_STARTED,
        EventKind.TASK_STARTED,
        EventKind.TASK_COMPLETED,
        EventKind.TASK_BLOCKED,
    }
)
_KEEPING = frozenset({EventKind.PLAN_AMENDED, EventKind.PLAN_REWRITTEN})
"""What may keep the steps that mean the same as before."""
_DECIDED = frozenset({EventKind.GATE_APPROVED, EventKind.PLAN_AMENDED, EventKind.PLAN_REWRITTEN})
"""What begins the work anew, so that what was merged is not all of it."""
_SETTLED = ("completed", "holds", "attested", "skipped", "waived")
"""The counts of a run's end that together are all steps."""
_BESIDE_PROVED = frozenset({"holds", "claimed", "attested"})
"""How a step may be completed besides being done."""


def fold(records: Iterable[Record]) -> dict[str, PlanState]:
    """Return the state of every plan that the records speak of.

    Only what really happened counts: a replay or a test proves nothing.
    """
    plans: dict[str, _Plan] = {}
    for record in records:
        draft = record.draft
        if not draft.plan or draft.provenance is not Provenance.LIVE:
            continue
        plan = plans.get(draft.plan)
        if plan is None or plan.begins_anew(draft.event):
            plan = plans[draft.plan] = _Plan(draft.plan, draft.timestamp)
        plan.apply(record)
    return {slug: plan.state() for slug, plan in plans.items()}


class _Plan:
    """One plan while its events are added up."""

    def __init__(self, slug: str, first: str) -> None:
        self.slug = slug
        self.first = first
        self.standing = PlanStatus.DRAFT
        self.decided: str | None = None
        self.approved: str | None = None
        """The digest that a person approved last, and did not take back."""
        self.driven = False
        """Whether a run has used that approval."""
        self.verified: set[str | None] = set()
        self.digest: str | None = None
        self.seen = 0
        self.edited = False
        self.revision = 1
        self.task_count: int | None = None
        self.tasks: dict[str, TaskState] = {}
        self.questions: dict[str, Question] = {}
        self.capped = False
        self.started = False
        self.archived = False
        self.integrated = False
        self.looped = False
        self.aside = Aside[TaskState]()
        self.amended: object = None
        """The digest of the revision that keeps what is settled, until it is approved."""
        self.last: Record | None = None

    def begins_anew(self, kind: EventKind) -> bool:
        """Say whether an event is the first of another plan by the same name."""
        if kind is EventKind.PLAN_CREATED:
            return True
        return self.archived and kind in {EventKind.PLAN_STAGED, EventKind.PLAN_ACTIVATED}

    def state(self) -> PlanState:
        return PlanState(
            slug=self.slug,
            standing=self.standing,
            decided=self.decided,
            verified=frozenset(self.verified),
            digest=self.digest,
            seen=self.seen,
            edited=self.edited,
            revision=self.revision,
            tasks=self.tasks,
            waiting=waits_for(self.questions),
            open_questions=all_waits(self.questions),
            started=self.started,
            archived=self.archived,
            integrated=self.integrated,
            looped=self.looped,
            first=self.first,
            last=self.last.draft.timestamp if self.last else None,
            last_event=self.last.draft.event if self.last else None,
            seq=self.last.seq if self.last else 0,
        )

    def apply(self, record: Record) -> None:
        kind = record.draft.event
        self._status(record)
        self._facts(record)
        if record.draft.task_id is not None:
            self._task(record)
        note(self.questions, record)
        if kind is EventKind.FINALIZATION_CAPPED:
            self.capped = True
        elif kind in _BEGUN:
            self.started = True
            if kind is EventKind.TASK_STARTED:
                self.capped = False
        elif kind is EventKind.PLAN_ARCHIVED:
            self.archived = True
        elif kind is EventKind.PLAN_INTEGRATED:
            self.integrated = True
        elif kind in _DECIDED:
            self.integrated = self.integrated and _is_noticed(record)
        elif kind is EventKind.PLAN_CREATED:
            self.looped = record.draft.details.get("origin") == "tools"
        self.last = record

    def _facts(self, record: Record) -> None:
        details = record.draft.details
        revision, count = details.get("revision"), details.get("task_count")
        if isinstance(revision, int) and not _is_noticed(record):
            self.revision = revision
        if isinstance(count, int):
            self.task_count = count
        kept = details.get("kept")
        if record.draft.event in _KEEPING and isinstance(kept, list):
            self._keep(record, [str(name) for name in kept])
        elif record.draft.event is EventKind.GATE_APPROVED:
            # Only an amendment keeps what was settled: any other approval begins anew.
            same = self.amended is not None and self.amended == details.get("digest")
            self.tasks = self.tasks if same else {}
            self.amended = None
            self.aside.clear()

    def _keep(self, record: Record, kept: list[str]) -> None:
        """Keep the steps that mean the same; a run goes on about the text that it began with."""
        if _is_noticed(record) and self.driven:
            return
        details, tasks = record.draft.details, self.tasks
        self.tasks = {name: task for name, task in tasks.items() if name in kept}
        self.amended = details.get("to")
        if _is_noticed(record):
            texts = _text(details.get("from")), _text(details.get("to"))
            self.tasks |= self.aside.swap(texts, tasks, kept)
        else:
            self.aside.clear()

    def _status(self, record: Record) -> None:
        kind, details = record.draft.event, record.draft.details
        told = _text(details.get("to")) or _text(details.get("digest"))
        if kind in _SEEING and told is not None:
            self._see(told, record)
        if kind in _BY_HAND:
            # A run goes on about the text that it began with, whatever is in the file since.
            about = self.decided if "run" in details else self.digest
            self._decide(_BY_HAND[kind], about)
        elif handler := _DECISIONS.get(kind):
            handler(self, record)

    def _see(self, digest: str | None, record: Record) -> None:
        self.digest, self.seen = digest, record.seq
        self.edited = record.draft.event is EventKind.PLAN_EDITED or _is_noticed(record)

    def _decide(self, standing: PlanStatus, digest: str | None) -> None:
        self.standing, self.decided = standing, digest

    def _verified(self, record: Record) -> None:
        if not record.draft.details.get("errors"):
            self._see(_text(record.draft.details.get("digest")), record)
            self.verified.add(self.digest)

    def _rewritten(self, record: Record) -> None:
        if takes_back(record.draft.details):
            self._take_back(record)
        elif self.decided is None:
            self._decide(PlanStatus.DRAFT, None)
        elif not (_is_noticed(record) or self.driven or self.standing in _UNDER_WAY):
            # An agent in the loop goes on with what had ended.
            begun = PlanStatus.DRAFT if self.approved is None else PlanStatus.APPROVED
            self._decide(begun, self.approved)

    def _take_back(self, record: Record) -> None:
        """Make a draft of it, whatever the text says."""
        self._decide(PlanStatus.DRAFT, None)
        self.approved, self.driven = None, False
        self.verified.discard(_text(record.draft.details.get("digest")))
        self.verified.discard(self.digest)

    def _approved(self, record: Record) -> None:
        self._decide(PlanStatus.APPROVED, _text(record.draft.details.get("digest")))
        self.approved, self.driven = self.decided, False
        self.verified = {self.decided}

    def _begun(self, record: Record) -> None:
        told = _text(record.draft.details.get("digest"))
        self._decide(PlanStatus.IN_PROGRESS, told or self.decided)
        self.driven = True

    def _completed(self, record: Record) -> None:
        ended = self._end(record.draft.details)
        if ended is PlanStatus.DRAFT:
            self.verified.discard(self.decided)
        self._decide(ended, self.decided)

    def _accepted(self, record: Record) -> None:
        blocked = bool(record.draft.details.get("blocked"))
        ended = PlanStatus.FINISHED_BLOCKED if blocked else PlanStatus.DONE
        self._decide(ended, _text(record.draft.details.get("digest")) or self.digest)

    def _end(self, details: Mapping[str, object]) -> PlanStatus:
        """Return what a run came to: a limit or a missing step is no completion."""
        counts = [details.get(name) for name in _SETTLED]
        settled = sum(count for count in counts if isinstance(count, int))
        missing = self.task_count is not None and settled < self.task_count
        named = details.get("status") in {"failed", "incomplete"}
        if details.get("status") == "revised":
            return PlanStatus.DRAFT
        if details.get("status") == "cancelled":
            return PlanStatus.CANCELLED
        if details.get("failed") or self.capped or missing or named:
            return PlanStatus.FAILED
        return PlanStatus.DONE_WITH_SKIPS if details.get("skipped") else PlanStatus.DONE

    def _task(self, record: Record) -> None:
        draft = record.draft
        assert draft.task_id is not None
        task = self.tasks.get(draft.task_id) or TaskState(draft.task_id)
        attempt, verdict = draft.details.get("attempt"), draft.details.get("verdict")
        if draft.event is EventKind.BASELINE_OBSERVED:
            verdict = None  # what the contract said before any work
        status = _TASK_STATUS.get(draft.event, task.status)
        result = draft.details.get("result")
        if draft.event is EventKind.TASK_COMPLETED and result in _BESIDE_PROVED:
            status = str(result)
        self.tasks[draft.task_id] = task._replace(
            name=draft.task_name or task.name,
            status=status,
            attempts=max(task.attempts, attempt) if isinstance(attempt, int) else task.attempts,
            verdict=verdict if isinstance(verdict, str) else task.verdict,
            reason=_why(draft.details, task) if status == "holds" else None,
        )


def _is_noticed(record: Record) -> bool:
    """Say whether an event only tells that a file was changed."""
    return is_noticed(record.draft.event, record.draft.details)


_UNDER_WAY = frozenset({PlanStatus.APPROVED, PlanStatus.IN_PROGRESS})
_DECISIONS: dict[EventKind, Callable[[_Plan, Record], None]] = {
    EventKind.PLAN_VERIFIED: _Plan._verified,  # noqa: SLF001 - a table of its own methods
    EventKind.PLAN_REWRITTEN: _Plan._rewritten,  # noqa: SLF001
    EventKind.PLAN_AMENDED: _Plan._take_back,  # noqa: SLF001
    EventKind.GATE_APPROVED: _Plan._approved,  # noqa: SLF001
    EventKind.GATE_REJECTED: _Plan._take_back,  # noqa: SLF001
    EventKind.EXECUTION_STARTED: _Plan._begun,  # noqa: SLF001
    EventKind.EXECUTION_COMPLETE: _Plan._completed,  # noqa: SLF001
    EventKind.FINALIZATION_ACCEPTED: _Plan._accepted,  # noqa: SLF001
}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _why(details: Mapping[str, object], task: TaskState) -> str | None:
    """Return why a step holds: what completed it says so, what comes later does not."""
    reason = details.get("reason") if "result" in details else task.reason
    return reason if isinstance(reason, str) else None
