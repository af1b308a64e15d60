"""Which plans may run at the same time: one runner for each, and no two change the same files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from planbound.errors import Refused
from planbound.plan.glob import GlobError, meeting_pairs, parse_glob


class Claim(NamedTuple):
    """What somebody asks for who wants to run a plan."""

    plan: str
    worktree: str
    """Where files are changed, in the same words by all who change them there."""
    touches: tuple[str, ...] | None
    """All that the plan may change; None: not declared."""
    holder: str
    """Who it is, for people, such as "process 12 on `box`"."""
    process: str | None = None
    """By what others on the same machine see whether the holder is dead; None: unknown."""


class Held(NamedTuple):
    """A lease that was acquired, and neither released nor taken over."""

    claim: Claim
    number: int
    expires_in: float
    """How many seconds are left; 0 where none are."""
    expired: bool
    """Whether anybody may take it over: its time is up, or its holder is dead."""


def admit(claim: Claim, leases: Iterable[Held]) -> tuple[Held, ...]:
    """Return the expired leases of other plans that end when this claim is granted.

    Raise Refused where a lease that has not expired is in the way. An expired one in the way ends:
    otherwise its holder, if it only was slow, would go on beside the new one.
    """
    ended = []
    for held in leases:
        reason = _in_the_way(claim, held.claim)
        if reason is None:
            continue
        if not held.expired:
            raise Refused(
                reason, hint="wait for it, or end it: the lease of a process goes with the process"
            )
        if held.claim.plan != claim.plan:
            ended.append(held)
    return tuple(ended)


def _in_the_way(claim: Claim, other: Claim) -> str | None:
    if other.plan == claim.plan:
        return f"`{claim.plan}` is run by {other.holder} already"
    return collision(claim, other)


def collision(claim: Claim, other: Claim) -> str | None:
    """Say why two plans cannot run at the same time; None where they can."""
    if claim.worktree != other.worktree:
        return None
    reason = _overlap(claim, other)
    if reason is None:
        return None
    return (
        f"`{claim.plan}` cannot run beside `{other.plan}`, which {other.holder} runs in the same"
        f" worktree: {reason}"
    )


def _overlap(claim: Claim, other: Claim) -> str | None:
    groups = []
    for each in (claim, other):
        if each.touches is None:
            return f"`{each.plan}` has no `touches`, so nobody can tell whether it is safe"
        try:
            groups.append([parse_glob(text) for text in each.touches])
        except GlobError as error:
            return f"`touches` of `{each.plan}` cannot be read: {error}"
    met = next(meeting_pairs(groups, lambda _first, _second: True), None)
    return None if met is None else f"`{met[2].text}` meets `{met[3].text}`"
