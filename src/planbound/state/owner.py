"""Whose plan it is: an agent's own, or people's. The journal says it, whatever the file says."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from planbound.journal.event import (
    EventKind,
    ExecutionComplete,
    PlanCreated,
    PlanEdited,
    PlanRewritten,
    PlanVerified,
)
from planbound.journal.record import Record

TOOLS = "tools"
"""The origin of plans that agents made by the tools."""
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


KINDS = (
    _TAKES_THE_NAME
    | _HANDS
    | _ASKS
    | {
        EventKind.PLAN_ARCHIVED,
        EventKind.PLAN_EDITED,
        EventKind.EXECUTION_COMPLETE,
        EventKind.FINALIZATION_ACCEPTED,
        EventKind.SESSION_RELEASED,
    }
)
"""The events that matter here."""


class Owner(Struct, frozen=True):
    """Who had a hand in the plan of a name."""

    people: bool = True
    """False: agents alone, by the tools."""
    taken: bool = False
    """Whether there is a plan by the name that is not at its end."""
    owes_yes: bool = False
    """Whether a person was asked, or said no: only a yes ends that, and no other text does."""

    def after(self, record: Record, *, ended: bool, known: Collection[str | None] = ()) -> Owner:
        """Return whose it is after an event; `ended`: the plan in the loop is at its end then.

        `known` is what the tools wrote last, and before: a rewrite comes to the file after its
        record, and who looks in between sees no other hand.
        """
        people = self._people(record) or _is_other_text(record, known)
        return Owner(people, self._taken(record, ended=ended), self._owes_yes(record))

    def _owes_yes(self, record: Record) -> bool:
        kind = record.kind
        if kind is EventKind.PLAN_CREATED:
            return self.owes_yes and self.taken
        return kind in _ASKS or (self.owes_yes and kind is not EventKind.GATE_APPROVED)

    def _people(self, record: Record) -> bool:
        match record.event:
            case PlanCreated(origin=origin):
                # Whoever writes a plan in the place of people's does not make theirs an agent's.
                return (self.taken and self.people) or origin != TOOLS
            case PlanRewritten(session=session, by=by):
                return self.people or session is None or by is None
            case _:
                return self.people or record.kind in _HANDS

    def _taken(self, record: Record, *, ended: bool) -> bool:
        if record.kind is EventKind.PLAN_ARCHIVED or ended:
            return False
        event = record.event
        if isinstance(event, ExecutionComplete):
            return event.status is None or not event.status.is_complete
        return self.taken or record.kind in _TAKES_THE_NAME


def _is_other_text(record: Record, known: Collection[str | None]) -> bool:
    """Say whether somebody saw a text in the file that the tools did not write."""
    match record.event:
        case PlanEdited(to=seen):
            return seen not in known
        case PlanVerified(digest=digest):
            return digest not in known
        case _:
            return False
