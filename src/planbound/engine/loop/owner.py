"""Whose plan it is: an agent's own, or people's. The journal says it, whatever the file says."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from planbound.journal.event import EventKind
from planbound.journal.record import Record

TOOLS = "tools"
"""The origin of plans that agents made by the tools."""
_FILE = "file"
"""The origin of plans that were written by hand, and seen for the first time."""
_MOMENT = 10.0
"""So many seconds may be between a file that an agent writes by the tools and its record."""
_DONE = frozenset({"done", "done with skips"})
_TAKES_THE_NAME = frozenset(
    {
        EventKind.PLAN_CREATED,
        EventKind.PLAN_VERIFIED,
        EventKind.PLAN_REWRITTEN,
        EventKind.PLAN_AMENDED,
        EventKind.PLAN_STAGED,
        EventKind.PLAN_ACTIVATED,
        EventKind.GATE_APPROVAL_REQUESTED,
        EventKind.GATE_APPROVED,
        EventKind.GATE_REJECTED,
        EventKind.EXECUTION_STARTED,
        EventKind.TASK_STARTED,
    }
)
"""After these there is a plan by the name, and it is not at its end."""
_HANDS = frozenset({EventKind.PLAN_AMENDED, EventKind.GATE_APPROVED, EventKind.GATE_REJECTED})
"""What somebody changed on purpose, or said yes or no to, is theirs, too."""
_ASKS = frozenset(
    {
        EventKind.GATE_APPROVAL_REQUESTED,
        EventKind.GATE_CLARIFICATION_ASKED,
        EventKind.GATE_REJECTED,
    }
)
"""After these only a yes lets an agent begin."""


class Owner(NamedTuple):
    """Who had a hand in the plan of a name."""

    people: bool = True
    """False: agents alone, by the tools."""
    taken: bool = False
    """Whether there is a plan by the name that is not at its end."""
    seen: Record | None = None
    """The last event, where it says that a file was seen for the first time."""
    owes_yes: bool = False
    """Whether a person was asked, or said no: only a yes ends that, and no other text does."""

    def after(self, record: Record, *, ended: bool) -> Owner:
        """Return whose it is after an event; `ended`: the plan in the loop is at its end then."""
        kind, details = record.draft.event, record.draft.details
        first = kind is EventKind.PLAN_CREATED and details.get("origin") == _FILE
        seen = record if first and not (self.taken and self.people) else None
        taken = self._taken(record, ended=ended)
        return Owner(self._people(record), taken, seen, self._owes_yes(record))

    def _owes_yes(self, record: Record) -> bool:
        kind = record.draft.event
        if kind is EventKind.PLAN_CREATED:
            return self.owes_yes and self.taken
        return kind in _ASKS or (self.owes_yes and kind is not EventKind.GATE_APPROVED)

    def _is_late(self, record: Record) -> bool:
        """Say whether a file was only seen before its own record was there."""
        seen = self.seen
        if seen is None or seen.draft.details.get("digest") != record.draft.details.get("digest"):
            return False
        then, now = (datetime.fromisoformat(each.draft.timestamp) for each in (seen, record))
        return (now - then).total_seconds() < _MOMENT

    def _people(self, record: Record) -> bool:
        kind, details = record.draft.event, record.draft.details
        if kind is EventKind.PLAN_CREATED:
            # Whoever writes a plan in the place of people's does not make theirs an agent's own.
            before = self.taken and self.people and not self._is_late(record)
            return before or details.get("origin") != TOOLS
        if kind is EventKind.PLAN_REWRITTEN:
            by_tools = "session" in details and "by" in details
            return self.people or not by_tools
        return self.people or kind in _HANDS

    def _taken(self, record: Record, *, ended: bool) -> bool:
        kind, details = record.draft.event, record.draft.details
        if kind is EventKind.PLAN_ARCHIVED or ended:
            return False
        if kind is EventKind.EXECUTION_COMPLETE:
            return details.get("status") not in _DONE
        return self.taken or kind in _TAKES_THE_NAME
