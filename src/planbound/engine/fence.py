"""Whether a holder may still write: nobody overtook it, and it did not give its lease back."""

from __future__ import annotations

from typing import NamedTuple

from planbound.errors import LeaseLost


class Fence(NamedTuple):
    """What an acquired lease is known by: the number grows with every acquisition of the plan."""

    plan: str
    number: int


class Standing(NamedTuple):
    """How a plan's lease stands."""

    number: int
    held: bool
    holder: str
    """Who has it, or had it last; or who needed the worktree of a holder whose time was up."""


def check_fence(fence: Fence, standing: Standing | None) -> None:
    """Raise LeaseLost unless the lease is held with exactly this number.

    Its time does not matter: as long as nobody took it over, whoever holds it is the only one.
    """
    if standing is not None and standing.held and standing.number == fence.number:
        return
    if standing is None or standing.number < fence.number:
        what = "is not known to this journal"
    elif standing.number == fence.number:
        what = "was given back"
    else:
        what = f"was lost to {standing.holder}"
    raise LeaseLost(
        f"the lease of `{fence.plan}` {what}; nothing was written",
        hint="`planbound resume` goes on with the plan when nobody else runs it",
    )
