"""A person, never an agent, takes the lease of a plan away."""

from __future__ import annotations

from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.ports.lease import Held, Revoking
from planbound.usecases.answer import Person
from planbound.usecases.record import Recorder


def revoke(
    recorder: Recorder, leases: Revoking, slug: str, person: Person, reason: str | None
) -> Held | None:
    """End the lease of a plan and put that on record; return it, None where nobody holds one."""
    # In this order: what is on record has happened, and its holder was shut out before.
    held = leases.revoke(slug, by=person.name)
    if held is None:
        return None
    details: dict[str, Json] = {
        "by": person.name,
        "method": person.method,
        "holder": held.claim.holder,
        "number": held.number,
    }
    if reason is not None:
        details["reason"] = reason
    recorder.record(EventKind.LEASE_RELEASED, slug, details)
    return held
