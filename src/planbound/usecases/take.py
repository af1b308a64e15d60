"""Which plans of the queue a worker can take now."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from planbound.engine.claims import Claim, Held, admit
from planbound.errors import Refused
from planbound.journal.event import EventKind
from planbound.ports.journal import Journal, Query
from planbound.ports.tickets import Ticket


class Fit(enum.Enum):
    """What is to be done with a ticket."""

    TAKE = "take"
    LEAVE = "leave"
    """Others run it or are in its way, it waits for a person, or somebody else is needed for it."""
    REMOVE = "remove"
    """Its run has ended."""


def fit(
    ticket: Ticket, journal: Journal, leases: Sequence[Held], roles: frozenset[str] | None
) -> Fit:
    """Say whether a worker that has these roles (None: any) can take a plan."""
    if roles is not None and not roles.issuperset(ticket.roles):
        return Fit.LEAVE
    if _is_taken(ticket, leases):
        return Fit.LEAVE
    if has_ended(ticket, journal):
        return Fit.REMOVE
    return Fit.LEAVE if _waits(ticket, journal) else Fit.TAKE


def _is_taken(ticket: Ticket, leases: Sequence[Held]) -> bool:
    claim = Claim(ticket.plan, ticket.worktree, ticket.touches, holder="")
    try:
        admit(claim, leases)
    except Refused:
        return True
    return False


def has_ended(ticket: Ticket, journal: Journal) -> bool:
    """Say whether the run came to an end since the plan was submitted, whatever that end is."""
    kinds = (EventKind.EXECUTION_COMPLETE,)
    query = Query(plan=ticket.plan, events=kinds, after=ticket.after, last=1)
    return any(True for _ in journal.read(query))


def _waits(ticket: Ticket, journal: Journal) -> bool:
    """Say whether a person was asked, and nothing has happened since."""
    for record in journal.read(Query(plan=ticket.plan, last=1)):
        draft = record.draft
        paused = draft.event is EventKind.EXECUTION_PAUSED
        return paused and draft.details.get("reason") == "waiting"
    return False
