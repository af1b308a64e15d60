"""Which events tell of something that is no pass: what a person looks for first."""

from __future__ import annotations

from planbound.journal.event import (
    AttemptEnded,
    ContractEvaluated,
    Event,
    EventKind,
    ExecutionComplete,
    RecoveryEscalation,
    VerdictKind,
)
from planbound.journal.record import Record
from planbound.journal.words import AttemptEnding

_ALWAYS = frozenset(
    {
        EventKind.GATE_REJECTED,
        EventKind.TASK_FAILED,
        EventKind.TASK_SKIPPED,
        EventKind.TASK_BLOCKED,
        EventKind.TASK_REOPENED,
        EventKind.POSTCONDITION_BLOCKED,
        EventKind.FAILURE_DETECTED,
        EventKind.PERMISSION_REQUIRED,
        EventKind.SCOPE_VIOLATED,
        EventKind.JUDGE_TAMPERED,
        EventKind.BUDGET_EXCEEDED,
        EventKind.WAIVED,
        EventKind.FINALIZATION_REJECTED,
        EventKind.FINALIZATION_CAPPED,
        EventKind.EXECUTION_CANCELLED,
        EventKind.INTEGRATION_STOPPED,
    }
)
"""What is never a pass, whatever it tells."""
KINDS = (
    *sorted(_ALWAYS, key=lambda kind: kind.value),
    EventKind.CONTRACT_EVALUATED,
    EventKind.ATTEMPT_ENDED,
    EventKind.RECOVERY_ESCALATION,
    EventKind.EXECUTION_COMPLETE,
)
"""All events that may tell of no pass: a journal is asked for no others."""


def falls_short(record: Record) -> bool:
    """Say whether an event of `KINDS` tells of something that is no pass.

    A contract that is red before the work is none of that: it has to be red then.
    """
    return record.kind in _ALWAYS or _is_short(record.event)


def _is_short(event: Event) -> bool:
    match event:
        case ContractEvaluated(verdict=verdict):
            return verdict is not VerdictKind.PASS and verdict is not VerdictKind.ATTESTED
        case AttemptEnded(ending=ending, exit_code=code):
            return ending is not AttemptEnding.EXITED or (isinstance(code, int) and code != 0)
        case RecoveryEscalation(user_decision=decision):
            return decision is None
        case ExecutionComplete(status=status):
            return status is None or not status.is_complete
        case _:
            return False
