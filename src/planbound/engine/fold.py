"""What the journal says about the plans: state is `fold(events)`, and nothing else."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planbound.engine.inbox import note, waits_for
from planbound.engine.run.question import Question
from planbound.journal.event import EventKind
from planbound.journal.record import Provenance, Record


class JournalStatus(enum.Enum):
    """Where a plan is, by the journal alone."""

    DRAFT = "draft"
    VERIFIED = "verified"
    APPROVED = "approved"
    IN_PROGRESS = "in-progress"
    DONE = "done"
    DONE_WITH_SKIPS = "done with skips"
    FINISHED_BLOCKED = "finished with blocked items"
    """An agent in the loop ended, and some of it could not be done."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    """A person ended its run; it goes through the gate again."""


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
    status: JournalStatus = JournalStatus.DRAFT
    revision: int = 1
    digest: str | None = None
    """Of the text that was verified or approved last."""
    tasks: Mapping[str, TaskState] = {}
    waiting: str | None = None
    """What a person is asked, while one is."""
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
    def holds(self) -> int:
        """Return how many steps hold and are not proved."""
        return sum(task.status == "holds" for task in self.tasks.values())


_TASK_STATUS = {
    EventKind.TASK_STARTED: "in-progress",
    EventKind.TASK_COMPLETED: "done",
    EventKind.TASK_FAILED: "failed",
    EventKind.TASK_SKIPPED: "skipped",
    EventKind.TASK_BLOCKED: "blocked",
    EventKind.TASK_REOPENED: "pending",
    EventKind.WAIVED: "waived",
    EventKind.ATTESTED: "done",
}
_PLAN_STATUS = {
    EventKind.PLAN_REWRITTEN: JournalStatus.DRAFT,
    EventKind.PLAN_AMENDED: JournalStatus.DRAFT,
    EventKind.GATE_APPROVED: JournalStatus.APPROVED,
    EventKind.GATE_REJECTED: JournalStatus.DRAFT,
    EventKind.EXECUTION_STARTED: JournalStatus.IN_PROGRESS,
    EventKind.TASK_STARTED: JournalStatus.IN_PROGRESS,
    EventKind.TASK_COMPLETED: JournalStatus.IN_PROGRESS,
    EventKind.TASK_BLOCKED: JournalStatus.IN_PROGRESS,
    EventKind.TASK_REOPENED: JournalStatus.IN_PROGRESS,
    EventKind.FINALIZATION_CAPPED: JournalStatus.FAILED,
    EventKind.SESSION_RELEASED: JournalStatus.FAILED,
}
_BEGUN = frozenset(
    {
        EventKind.EXECUTION_STARTED,
        EventKind.TASK_STARTED,
        EventKind.TASK_COMPLETED,
        EventKind.TASK_BLOCKED,
    }
)
_STANDING = frozenset({JournalStatus.APPROVED, JournalStatus.IN_PROGRESS})
_KEEPING = frozenset({EventKind.PLAN_AMENDED, EventKind.PLAN_REWRITTEN})
"""What may keep the steps that mean the same as before."""
_DECIDED = frozenset({EventKind.GATE_APPROVED, EventKind.PLAN_AMENDED, EventKind.PLAN_REWRITTEN})
"""What begins the work anew, so that what was merged is not all of it."""
_BESIDE_PROVED = frozenset({"holds", "claimed"})
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
        self.status = JournalStatus.DRAFT
        self.revision = 1
        self.digest: str | None = None
        self.task_count: int | None = None
        self.tasks: dict[str, TaskState] = {}
        self.questions: dict[str, Question] = {}
        self.capped = False
        self.started = False
        self.archived = False
        self.integrated = False
        self.looped = False
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
            status=self.status,
            revision=self.revision,
            digest=self.digest,
            tasks=self.tasks,
            waiting=waits_for(self.questions),
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
            self.integrated = False
        elif kind is EventKind.PLAN_CREATED:
            self.looped = record.draft.details.get("origin") == "tools"
        self.last = record

    def _facts(self, record: Record) -> None:
        details = record.draft.details
        if record.draft.event is EventKind.PLAN_VERIFIED and self.status in _STANDING:
            return  # of another text than the one that is approved
        for name in ("digest", "to"):
            value = details.get(name)
            if isinstance(value, str):
                self.digest = value
        revision, count = details.get("revision"), details.get("task_count")
        if isinstance(revision, int):
            self.revision = revision
        if isinstance(count, int):
            self.task_count = count
        kept = details.get("kept")
        if record.draft.event in _KEEPING and isinstance(kept, list):
            self.tasks = {name: task for name, task in self.tasks.items() if name in kept}
            self.amended = details.get("to")
        elif record.draft.event is EventKind.GATE_APPROVED:
            # Only an amendment keeps what was settled: any other approval begins anew.
            same = self.amended is not None and self.amended == details.get("digest")
            self.tasks = self.tasks if same else {}
            self.amended = None

    def _status(self, record: Record) -> None:
        kind, details = record.draft.event, record.draft.details
        if kind is EventKind.PLAN_VERIFIED:
            same = self.digest is not None and details.get("digest") == self.digest
            # Looking at a text takes no approval away, and stops no run: that is for its text.
            if self.status in _STANDING or (same and self.status is not JournalStatus.DRAFT):
                return
            if not details.get("errors"):
                self.status = JournalStatus.VERIFIED
        elif kind is EventKind.EXECUTION_COMPLETE:
            self.status = self._end(details)
        elif kind is EventKind.FINALIZATION_ACCEPTED:
            blocked = bool(details.get("blocked"))
            self.status = JournalStatus.FINISHED_BLOCKED if blocked else JournalStatus.DONE
        else:
            self.status = _PLAN_STATUS.get(kind, self.status)

    def _end(self, details: Mapping[str, object]) -> JournalStatus:
        """Return what a run came to: a limit or a missing step is no completion."""
        counts = [details.get(name) for name in ("completed", "holds", "skipped", "waived")]
        settled = sum(count for count in counts if isinstance(count, int))
        missing = self.task_count is not None and settled < self.task_count
        named = details.get("status") in {"failed", "incomplete"}
        if details.get("status") == "revised":
            return JournalStatus.DRAFT
        if details.get("status") == "cancelled":
            return JournalStatus.CANCELLED
        if details.get("failed") or self.capped or missing or named:
            return JournalStatus.FAILED
        return JournalStatus.DONE_WITH_SKIPS if details.get("skipped") else JournalStatus.DONE

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


def _why(details: Mapping[str, object], task: TaskState) -> str | None:
    """Return why a step holds: what completed it says so, what comes later does not."""
    reason = details.get("reason") if "result" in details else task.reason
    return reason if isinstance(reason, str) else None
