"""While it is decided about a plan, nobody runs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from planbound.ports.lease import Claim, Leases

_SECONDS = 30.0


@contextmanager
def nobody_runs(
    leases: Leases, plan: str, *, holder: str, process: str | None = None
) -> Iterator[None]:
    """Hold the lease of a plan; raise Refused, with a name, where somebody runs it.

    Who ran it and is not heard of any more writes nothing from now on: what it is about to record
    belongs to a run that the decision puts an end to.
    """
    # In no worktree: it changes no files, so other plans may run meanwhile.
    claim = Claim(
        plan, worktree=f"the gate of {plan}", touches=None, holder=holder, process=process
    )
    fence = leases.acquire(claim, seconds=_SECONDS)
    try:
        yield
    finally:
        leases.release(fence)
