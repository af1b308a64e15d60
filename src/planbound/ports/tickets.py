"""The queue that workers take plans from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from planbound.plan.model import Priority


class Ticket(NamedTuple):
    """An approved plan's place on the queue; it stays there until its run has ended."""

    plan: str
    workspace: str
    """Where it was submitted, and is run."""
    worktree: str
    """What it claims, in the words of its lease."""
    touches: tuple[str, ...] | None
    roles: tuple[str, ...]
    """Who is needed for its steps."""
    priority: Priority
    nonce: str
    """The approval that it is for."""
    after: int
    """The journal's last event about the plan when it was submitted."""
    anyway: bool = False
    """Whether it is run although a plan that it depends on is not proved."""


class Tickets(Protocol):
    """The tickets of one project. A failure is a `JournalProblem`."""

    def add(self, ticket: Ticket) -> bool:
        """Put a plan on the queue; False where it is there already, with this approval."""

    def all(self) -> Sequence[Ticket]:
        """Return all tickets: by priority, then the oldest first."""

    def remove(self, ticket: Ticket) -> None:
        """Take a ticket off the queue, where it is still there."""
