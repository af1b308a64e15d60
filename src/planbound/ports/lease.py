"""Leases: one plan has one runner, and whoever lost its lease can write nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from planbound.engine.claims import Claim, Held
from planbound.engine.fence import Fence

__all__ = ["Claim", "Fence", "Held", "Leases", "Revoking"]


class Leases(Protocol):
    """The leases of all plans of a journal. A failure is a `JournalProblem`."""

    def acquire(self, claim: Claim, *, seconds: float) -> Fence:
        """Take the lease of a plan; raise Refused, with a name, where a holder is in the way.

        That is whoever holds the plan's lease, and, as Claimed, whoever runs another plan in the
        same worktree, unless both declare what they touch and these are disjoint, or elsewhere,
        where both declare it and these meet. A lease whose time is up does not count, nor that of
        a process that is known to be dead: its holder can write nothing from now on. The number of
        the fence is higher than any before it for this plan.
        """

    def renew(self, fence: Fence, *, seconds: float) -> None:
        """Start the time anew; raise LeaseLost where somebody took the lease over."""

    def release(self, fence: Fence) -> None:
        """Give a lease back; somebody else's stays as it is."""

    def held(self) -> Sequence[Held]:
        """Return all leases that were not given back, in the order of their plans."""


class Revoking(Protocol):
    """Takes leases away: a person's decision, never a runner's."""

    def revoke(self, plan: str, *, by: str) -> Held | None:
        """End the lease of a plan; return it as it was, None where nobody holds one.

        The number grows: its holder can write nothing from now on, and is told who took it.
        """
