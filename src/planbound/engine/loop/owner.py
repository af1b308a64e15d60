"""Whose plan it is: an agent's own, or people's. The journal says it, whatever the file says."""

from __future__ import annotations

from typing import NamedTuple

from planbound.journal.event import EventKind
from planbound.journal.record import Record

TOOLS = "tools"
"""The origin of plans that agents made by the tools."""
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


class Owner(NamedTuple):
    """Who had a hand in the plan of a name."""

    people: bool = True
    """False: agents alone, by the tools."""
    taken: bool = False
    """Whether there is a plan by the name that is not at its end."""

    def after(self, record: Record, *, ended: bool) -> Owner:
        """Return whose it is after an event; `ended`: the plan in the loop is at its end then."""
        return Owner(self._people(record), self._taken(record, ended=ended))

    def _people(self, record: Record) -> bool:
        kind, details = record.draft.event, record.draft.details
        if kind is EventKind.PLAN_CREATED:
            # Whoever writes a plan in the place of people's does not make theirs an agent's own.
            return (self.taken and self.people) or details.get("origin") != TOOLS
        if kind is EventKind.PLAN_REWRITTEN:
            by_tools = "session" in details and "by" in details
            return self.people or not by_tools
        # What somebody changed on purpose or said yes to is theirs, too.
        changed = kind in {EventKind.PLAN_AMENDED, EventKind.GATE_APPROVED}
        return self.people or changed

    def _taken(self, record: Record, *, ended: bool) -> bool:
        kind, details = record.draft.event, record.draft.details
        if kind is EventKind.PLAN_ARCHIVED or ended:
            return False
        if kind is EventKind.EXECUTION_COMPLETE:
            return details.get("status") not in _DONE
        return self.taken or kind in _TAKES_THE_NAME
