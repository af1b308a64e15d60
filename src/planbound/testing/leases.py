"""Leases in memory, which pass the same tests as the real ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from msgspec.structs import replace

from planbound.journal.leases import Claim, Held, admit
from planbound.journal.record import HeldLease, LeaseState, check_lease


class _Lease(NamedTuple):
    claim: Claim
    lease_state: LeaseState
    expires: float


class MemoryLeases:
    """Keeps leases as long as it lives; `lock` is the one under which the journal appends."""

    def __init__(
        self, lock: AbstractContextManager[object], is_gone: Callable[[str], bool]
    ) -> None:
        self._lock = lock
        self._is_gone = is_gone
        self._leases: dict[str, _Lease] = {}

    def acquire(self, claim: Claim, *, seconds: float) -> HeldLease:
        """Take the lease of a plan; raise Refused where another is in the way."""
        with self._lock:
            for ended in admit(claim, self.held()):
                lost = LeaseState(ended.number + 1, held=False, holder=claim.holder)
                self._stand(ended.claim.plan, lost)
            last = self.lease_state(claim.plan)
            held_lease = HeldLease(claim.plan, 1 if last is None else last.number + 1)
            lease_state = LeaseState(held_lease.number, held=True, holder=claim.holder)
            self._leases[claim.plan] = _Lease(claim, lease_state, time.monotonic() + seconds)
            return held_lease

    def renew(self, held_lease: HeldLease, *, seconds: float) -> None:
        """Start the time anew; raise LeaseLost where somebody took the lease over."""
        with self._lock:
            check_lease(held_lease, self.lease_state(held_lease.plan))
            lease = self._leases[held_lease.plan]
            self._leases[held_lease.plan] = lease._replace(expires=time.monotonic() + seconds)

    def release(self, held_lease: HeldLease) -> None:
        """Give a lease back; somebody else's stays as it is."""
        with self._lock:
            found = self.lease_state(held_lease.plan)
            if found is not None and found.number == held_lease.number:
                self._stand(held_lease.plan, replace(found, held=False))

    def revoke(self, plan: str, *, by: str) -> Held | None:
        """End the lease of a plan, whoever holds it; return it as it was."""
        with self._lock:
            found = next((held for held in self.held() if held.claim.plan == plan), None)
            if found is not None:
                self._stand(plan, LeaseState(found.number + 1, held=False, holder=by))
            return found

    def held(self, *, beside: str | None = None) -> Sequence[Held]:
        """Return all leases that were not given back, in the order of their plans."""
        with self._lock:
            return [
                self._shown(lease)
                for plan, lease in sorted(self._leases.items())
                if lease.lease_state.held and plan != beside
            ]

    def lease_state(self, plan: str) -> LeaseState | None:
        """Return how the lease of a plan stands; None where there never was one."""
        lease = self._leases.get(plan)
        return None if lease is None else lease.lease_state

    def _stand(self, plan: str, lease_state: LeaseState) -> None:
        self._leases[plan] = self._leases[plan]._replace(lease_state=lease_state)

    def _shown(self, lease: _Lease) -> Held:
        left = max(0.0, lease.expires - time.monotonic())
        process = lease.claim.process
        gone = process is not None and self._is_gone(process)
        return Held(lease.claim, lease.lease_state.number, left, expired=gone or not left)
