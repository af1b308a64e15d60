"""Prune: takes worktrees away whose work is all elsewhere, and says why the others stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from planbound.engine.claims import Claim
from planbound.engine.team.state import TeamState
from planbound.errors import JournalProblem, PlanboundError, Refused
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.ports.lease import Leases
from planbound.usecases.record import Recorder
from planbound.usecases.team.removable import PruneDesk, Removal, examine

_LEASE = 1800.0
"""Longer than any removal; who dies in it is known to be dead."""


class Powers(NamedTuple):
    """What taking away needs beside looking."""

    recorder: Recorder
    leases: Leases
    holder: str
    """Who holds leases here, for people."""
    process: str | None
    unbroken: Callable[[], AbstractContextManager[None]]
    """Lets nobody interrupt what would be left half-done."""


class Removed(NamedTuple):
    """A worktree that is gone, or would be."""

    plan: str
    path: str
    branch: str | None
    """None: it was gone, or stays because it moved meanwhile."""
    tip: str | None


class Kept(NamedTuple):
    """A worktree that stays."""

    plan: str
    path: str
    reason: str


class Pruned(NamedTuple):
    """What became of each worktree that was looked at."""

    removed: tuple[Removed, ...] = ()
    kept: tuple[Kept, ...] = ()


def prune(
    desk: PruneDesk, powers: Powers, states: Sequence[TeamState], *, dry_run: bool = False
) -> Pruned:
    """Take away what can go; the caller holds the lock under which worktrees come and go.

    A dry run only looks. Whatever goes wrong with one keeps that one, and nothing else.
    """
    removed: list[Removed] = []
    kept: list[Kept] = []
    for state in states:
        if state.binding is None:
            continue
        try:
            removed.append(_one(desk, powers, state, dry_run=dry_run))
        except JournalProblem:
            raise  # what cannot be recorded is not done
        except PlanboundError as problem:
            kept.append(Kept(state.plan, state.binding.path, problem.message))
    return Pruned(tuple(removed), tuple(kept))


def _one(desk: PruneDesk, powers: Powers, state: TeamState, *, dry_run: bool) -> Removed:
    _refuse_held(powers, state)
    removal = examine(desk, state, desk.repository.registered())
    if dry_run:
        branch = removal.binding.branch if removal.tip is not None else None
        return Removed(state.plan, removal.binding.path, branch, removal.tip)
    with _lease(powers, removal):
        # Again, for somebody may have worked in it until now.
        removal = examine(desk, state, desk.repository.registered())
        return _remove(desk, powers, removal)


def _refuse_held(powers: Powers, state: TeamState) -> None:
    binding = state.binding
    assert binding is not None
    for held in powers.leases.held():
        where = held.claim.worktree
        is_there = where == binding.path or where.startswith(f"{binding.path}/")
        if not held.expired and (held.claim.plan == state.plan or is_there):
            raise Refused(f"{held.claim.holder} works on `{held.claim.plan}` in it")


@contextmanager
def _lease(powers: Powers, removal: Removal) -> Iterator[None]:
    """Hold the lease of a plan: nobody begins to work in what is being taken away."""
    binding = removal.binding
    claim = Claim(binding.plan, binding.workspace, (), powers.holder, powers.process)
    fence = powers.leases.acquire(claim, seconds=_LEASE)
    try:
        yield
    finally:
        powers.leases.release(fence)


def _remove(desk: PruneDesk, powers: Powers, removal: Removal) -> Removed:
    """Take everything away, in an order in which it can be begun again at any point."""
    binding, tip = removal.binding, removal.tip
    with powers.unbroken():
        if removal.is_there:
            _take_down(desk, removal)
        elif removal.is_registered:
            desk.repository.remove(binding.path)
    is_deleted = tip is not None and desk.repository.move(
        binding.branch, None, tip, "planbound: pruned"
    )
    desk.slots.point(binding.plan, None)
    details: dict[str, Json] = {"path": binding.path, "reason": "pruned"}
    if tip is not None:
        details["tip"] = tip
        if is_deleted:
            details["branch"] = binding.branch
        else:
            details["survived"] = [f"the branch `{binding.branch}`, which moved meanwhile"]
    powers.recorder.record(EventKind.WORKTREE_REMOVED, binding.plan, details)
    return Removed(binding.plan, binding.path, binding.branch if is_deleted else None, tip)


def _take_down(desk: PruneDesk, removal: Removal) -> None:
    binding, slots = removal.binding, desk.slots
    try:
        if removal.is_marked:
            slots.unmark(binding.workspace, binding.plan)
        for name in removal.copies:
            slots.discard(name, binding.workspace)
        desk.repository.remove(binding.path)
    except PlanboundError:
        # Git refuses: somebody was quicker. It is their worktree again, as it was.
        if desk.occupied(binding.path) is not None:
            if removal.is_marked:
                slots.mark(binding.workspace, binding.plan)
            for name in removal.copies:
                if desk.occupied(f"{binding.workspace}/{name}") is None:
                    slots.copy(name, binding.workspace)
        raise
