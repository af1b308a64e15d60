"""Put an approved plan on the queue of the workers."""

from __future__ import annotations

from planbound.engine.fence import Fence
from planbound.errors import NothingToDo
from planbound.plan.model import Priority
from planbound.plan.parse import parse
from planbound.ports.tickets import Ticket, Tickets
from planbound.usecases.run.desk import Desk
from planbound.usecases.run.start import claim_of, make_ready, read_state
from planbound.usecases.take import has_ended


def submit(
    desk: Desk, tickets: Tickets, data: bytes, *, workspace: str, anyway: bool = False
) -> Ticket:
    """Return the ticket; refuse what could not be run now, as the run itself would."""
    # Nothing is written under this fence: the worker that takes the plan gets its own.
    plan = parse(data, path=desk.file.shown)
    ready = make_ready(desk, read_state(desk, plan), Fence(desk.slug, 0), data, anyway=anyway)
    claim = claim_of(desk, plan)
    layout = ready.session.layout
    targets = {slot.step.target.value for slot in layout.slots if slot.step.target is not None}
    ticket = Ticket(
        plan=desk.slug,
        workspace=workspace,
        worktree=claim.worktree,
        touches=claim.touches,
        roles=tuple(sorted(targets)),
        priority=plan.priority.value if plan.priority else Priority.NORMAL,
        nonce=ready.approval.nonce,
        after=ready.session.state.seq,
        anyway=anyway,
    )
    for known in tickets.all():
        if known.plan == desk.slug and has_ended(known, desk.journal):
            tickets.remove(known)  # no worker came by since
    if not tickets.add(ticket):
        raise NothingToDo(f"`{desk.slug}` is on the queue already")
    return ticket
