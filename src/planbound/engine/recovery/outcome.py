"""What came of a recovery: known as soon as the step is proved, fails again, or is asked about."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Record


class RecoveryOutcome(enum.Enum):
    """What came of a recovery."""

    SUCCESS = "success"
    """The step passes."""
    FAILED = "failed"
    """It failed again, or the run ended before it was seen."""
    ESCALATED = "escalated"
    """A person was asked, or took it over."""


class Recovery(NamedTuple):
    """A `RECOVERY_APPLIED` of which nobody knows yet what came of it."""

    id: str
    """The id of the event."""
    run: str
    task: tuple[str, str]
    """The id and the title of the step."""
    number: str
    recipe: str
    attempt: int | None


def recovery_of(record: Record) -> Recovery:
    """Return what a `RECOVERY_APPLIED` did, of a step that may be gone from the plan."""
    draft = record.draft
    task, attempt = draft.task_id or "", draft.details.get("attempt")
    return Recovery(
        id=draft.id,
        run=str(draft.details.get("run")),
        task=(task, draft.task_name or task),
        number=str(draft.details.get("number") or ""),
        recipe=str(draft.details.get("recipe_name")),
        attempt=attempt if isinstance(attempt, int) else None,
    )


class Ended(NamedTuple):
    """What came of a recovery, and where in a list of events that has to be said."""

    recovery: Recovery
    outcome: RecoveryOutcome
    place: int


_BEFORE = {
    EventKind.FAILURE_DETECTED: RecoveryOutcome.FAILED,
    EventKind.TASK_FAILED: RecoveryOutcome.FAILED,
    EventKind.BUDGET_EXCEEDED: RecoveryOutcome.ESCALATED,
    EventKind.RECOVERY_ESCALATION: RecoveryOutcome.ESCALATED,
}
"""What shows it, and is said after it: a failure and its answer stay together."""
_AFTER = {
    EventKind.TASK_COMPLETED: RecoveryOutcome.SUCCESS,
    EventKind.TASK_SKIPPED: RecoveryOutcome.ESCALATED,
    EventKind.WAIVED: RecoveryOutcome.ESCALATED,
    EventKind.ATTESTED: RecoveryOutcome.ESCALATED,
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
        if draft.event in _AFTER:
            return Ended(recovery, _AFTER[draft.event], at + 1)
        if draft.event in _BEFORE:
            asks = any(each.event is EventKind.RECOVERY_ESCALATION for _, each in own)
            outcome = RecoveryOutcome.ESCALATED if asks else _BEFORE[draft.event]
            return Ended(recovery, outcome, at)
    return None


def _of_run(recovery: Recovery, drafts: Sequence[Draft]) -> Ended | None:
    """Return that its run is over, or that there is another one."""
    for at, draft in enumerate(drafts):
        is_over = draft.event is EventKind.EXECUTION_COMPLETE
        is_other = (
            draft.event is EventKind.EXECUTION_STARTED and draft.details.get("run") != recovery.run
        )
        if is_over or is_other:
            return Ended(recovery, RecoveryOutcome.FAILED, at)
    return None
