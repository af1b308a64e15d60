"""The queue of the workers, kept by DBOS.

A ticket is an enqueued workflow that no process lets DBOS dequeue: DBOS knows nothing of roles,
leases and questions, and would hand a plan to whoever asks first. Workers look through the queue
in its order instead, and what gives them a plan is its lease. A ticket never changes: it is there
from the submission to the end of the run, so a worker that dies leaves nothing to be mended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planbound.plan.model import Priority
from planbound.ports.tickets import Ticket
from planbound.runtime.dbos_database import DBOS, DbosDatabase, EnqueueOptions, error

WORKFLOW = "planbound.ticket.v1"

_ORDER = (Priority.URGENT, Priority.HIGH, Priority.NORMAL, Priority.LOW)


class DbosTickets:
    """The tickets of one project; DBOS is launched."""

    def __init__(self, database: DbosDatabase, project: str) -> None:
        self._database = database
        self._queue = f"planbound/{project}"
        self._prefix = f"ticket/{project}/"

    def add(self, ticket: Ticket) -> bool:
        """Put a plan on the queue; False where it is there already, with this approval."""
        for known in self.all():
            if known.plan == ticket.plan:
                if known.nonce == ticket.nonce:
                    return False
                # A ticket of an older approval is of no use to anybody.
                self.remove(known)
        options = EnqueueOptions(
            workflow_name=WORKFLOW,
            queue_name=self._queue,
            workflow_id=self._prefix + ticket.plan,
            workflow_id_reuse_policy="reject",
            priority=_ORDER.index(ticket.priority) + 1,
        )
        with self._database.problems():
            try:
                DBOS.enqueue_workflow_with_options(options, _encoded(ticket))
            except error.DBOSWorkflowIDInUseError:
                return False  # somebody else was faster
        return True

    def all(self) -> Sequence[Ticket]:
        """Return all tickets: by priority, then the oldest first."""
        with self._database.problems():
            found = DBOS.list_workflows(
                queue_name=self._queue, name=WORKFLOW, status="ENQUEUED", load_output=False
            )
        found.sort(key=lambda each: (each.priority or 0, each.created_at or 0, each.workflow_id))
        return [_decoded(each.input["args"][0]) for each in found if each.input is not None]

    def remove(self, ticket: Ticket) -> None:
        """Take a ticket off the queue, where it is still there."""
        if ticket in self.all():
            with self._database.problems():
                DBOS.delete_workflows([self._prefix + ticket.plan])


def _encoded(ticket: Ticket) -> dict[str, Any]:
    return ticket._asdict() | {"priority": ticket.priority.value}


def _decoded(value: dict[str, Any]) -> Ticket:
    touches = value["touches"]
    return Ticket(
        plan=str(value["plan"]),
        workspace=str(value["workspace"]),
        worktree=str(value["worktree"]),
        touches=None if touches is None else tuple(map(str, touches)),
        roles=tuple(map(str, value["roles"])),
        priority=Priority(value["priority"]),
        nonce=str(value["nonce"]),
        after=int(value["after"]),
        anyway=bool(value.get("anyway", False)),
    )
