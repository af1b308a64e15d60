"""Which plans may run at the same time: one runner for each, and no two change the same files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from planbound.errors import Claimed, Refused

_HINT = "wait for it, or end it: the lease of a process goes with the process"


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

    Raise Refused where the plan's own lease has not expired, and Claimed where that of another
    plan in the way has not. An expired one in the way ends: otherwise its holder, if it only was
    slow, would go on beside the new one.
    """
    ended = []
    # What is refused at once comes first: the plan's own holder, then those in the same worktree.
    for held in sorted(leases, key=lambda each: _distance(claim, each.claim)):
        other = held.claim
        if other.plan == claim.plan:
            if not held.expired:
                raise Refused(f"`{claim.plan}` is run by {other.holder} already", hint=_HINT)
            continue
        reason = collision(claim, other)
        if reason is None:
            continue
        if not held.expired:
            raise Claimed(reason, plan=other.plan, worktree=other.worktree, hint=_HINT)
        ended.append(held)
    return tuple(ended)


def _distance(claim: Claim, other: Claim) -> tuple[bool, bool]:
    return other.plan != claim.plan, other.worktree != claim.worktree


def collision(claim: Claim, other: Claim) -> str | None:
    """Say why two plans cannot run at the same time; None where they can.

    In different worktrees nothing is broken by what nobody declared: the merge judges that.
    """
    unknown, met = _overlap(claim, other)
    if claim.worktree == other.worktree:
        reason = unknown or met
        where = f"`{claim.plan}` cannot run beside `{other.plan}`, which {other.holder} runs in"
        return None if reason is None else f"{where} the same worktree: {reason}"
    if met is None:
        return None
    runs = f"which {other.holder} runs in {other.worktree}"
    return f"`{claim.plan}` waits for `{other.plan}`, {runs}: {met}"


def _overlap(claim: Claim, other: Claim) -> tuple[str | None, str | None]:
    """Return why nobody can tell what both would change, and else how that meets."""
    # Seldom is anybody in the way, and patterns take their time to load.
    from planbound.plan.glob import (  # noqa: PLC0415 - start-up
        GlobError,
        meeting_pairs,
        parse_glob,
    )

    groups = []
    for each in (claim, other):
        if each.touches is None:
            return f"`{each.plan}` has no `touches`, so nobody can tell whether it is safe", None
        try:
            groups.append([parse_glob(text) for text in each.touches])
        except GlobError as error:
            return f"`touches` of `{each.plan}` cannot be read: {error}", None
    met = next(meeting_pairs(groups, lambda _first, _second: True), None)
    return None, None if met is None else f"`{met[2].text}` meets `{met[3].text}`"
