"""Which runs are over, so that nothing of theirs is needed to go on."""

from __future__ import annotations

from collections.abc import Container, Iterable

from planbound.journal.event import EventKind
from planbound.journal.record import Record

EVENTS = (EventKind.PLAN_CREATED, EventKind.EXECUTION_STARTED, EventKind.EXECUTION_COMPLETE)
"""What tells of the beginning and the end of runs."""
_RESUMABLE = "failed"


def runs_that_are_over(records: Iterable[Record], working: Container[str]) -> frozenset[str]:
    """Return the runs that cannot go on: they ended, or their plan has another one.

    A plan that somebody works on has none of them.
    """
    plans: dict[str, str] = {}
    current: dict[str, str] = {}
    for record in records:
        draft = record.draft
        run = str(draft.details.get("run"))
        if draft.event is EventKind.EXECUTION_STARTED:
            plans[run] = draft.plan
            current[draft.plan] = run
        elif draft.event is EventKind.PLAN_CREATED:
            current.pop(draft.plan, None)  # another plan by the same name
        elif draft.details.get("status") not in {None, _RESUMABLE}:
            current.pop(draft.plan, None)
    going_on = set(current.values())
    return frozenset(
        run for run, plan in plans.items() if run not in going_on and plan not in working
    )
