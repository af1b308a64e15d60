"""Ask again for approvals that nobody gave or refused."""

from __future__ import annotations

from planbound.engine.gate.reminder import LOOKED_AT, due, waiting
from planbound.journal.event import EventKind
from planbound.ports.journal import Journal, Query
from planbound.usecases.record import Recorder


def remind(recorder: Recorder, journal: Journal, every: float, now: str) -> list[str]:
    """Note a second question for each plan that waited longer than `every`; return which.

    Two processes that ask at once note one reminder.
    """
    asked = []
    for item in waiting(journal.read(Query(events=LOOKED_AT))):
        if due(item.asked, item.reminders, now, every):
            number = item.reminders + 1
            recorder.record(
                EventKind.GATE_APPROVAL_REQUESTED,
                item.slug,
                {**item.details, "reminder": number},
                key=f"{item.request} reminder {number}",
            )
            asked.append(item.slug)
    return asked
