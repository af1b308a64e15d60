"""Ask again for approvals that nobody gave or refused."""

from __future__ import annotations

from planbound.engine.gate.reminder import LOOKED_AT, due, waiting
from planbound.errors import Stale
from planbound.journal.event import EventKind
from planbound.journal.record import Draft
from planbound.ports.journal import Journal, Query
from planbound.usecases.record import Recorder

_TRIES = 5


def remind(recorder: Recorder, journal: Journal, every: float, now: str) -> list[str]:
    """Note a second question for each plan that waited longer than `every`; return which.

    Two processes that ask at once note one reminder, and only one of them gets it returned: so
    that people are told of it once.
    """
    asked = []
    for item in waiting(journal.read(Query(events=LOOKED_AT))):
        if due(item.asked, item.reminders, now, every):
            number = item.reminders + 1
            draft = recorder.draft(
                EventKind.GATE_APPROVAL_REQUESTED,
                item.slug,
                {**item.details, "reminder": number},
                key=f"{item.request} reminder {number}",
            )
            if _is_first(recorder.journal, draft):
                asked.append(item.slug)
    return asked


def _is_first(journal: Journal, draft: Draft) -> bool:
    """Append an event; say whether it was not there yet."""
    for _ in range(_TRIES):
        head = journal.head()
        try:
            return journal.append([draft], expected=head)[0].seq > head.seq
        except Stale:
            continue
    return False  # many write just now: the next look is soon enough
