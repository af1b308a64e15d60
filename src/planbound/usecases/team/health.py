"""How it is with the worktrees of plans: what the journal, git and the folders say of each."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.engine.team.slot import POINTER, PREFIX
from planbound.engine.team.state import Binding, TeamState
from planbound.errors import GitProblem, PlanboundError
from planbound.ports.git import Registered
from planbound.usecases.team.bindings import mismatch
from planbound.usecases.team.removable import PruneDesk, examine


class Finding(NamedTuple):
    """One thing to know about a worktree."""

    message: str
    cure: str | None = None
    """None: it is as it should be."""


class HealthDesk(NamedTuple):
    """What looking at all worktrees needs, put together once."""

    prune: PruneDesk
    states: Mapping[str, TeamState]
    root: str
    """The folder of the worktrees."""
    folders: Sequence[str]
    """The names of the folders in it."""
    pointers: Mapping[str, str]
    """By plan, where a worktree is by what the main `.harness/` says."""
    plans: frozenset[str]
    """The names of all plans."""


def worktree_health(desk: HealthDesk) -> list[Finding]:
    """Return what there is to say about every worktree, and about what only looks like one."""
    bindings = {plan: state.binding for plan, state in desk.states.items() if state.binding}
    try:
        registered = desk.prune.repository.registered()
    except GitProblem as problem:
        cure = problem.hint or "mend what it names: worktrees cannot be looked at"
        return [Finding(problem.message, cure)]
    found = [
        finding
        for plan in sorted(bindings)
        for finding in _bound(desk, desk.states[plan], registered)
    ]
    here = {each.path for each in bindings.values() if _is_here(desk, each)}
    found += _orphaned(desk, registered, here)
    found += _fake(desk, {each.path for each in registered} | here)
    found += _pointers(desk, bindings)
    return found


def _is_here(desk: HealthDesk, binding: Binding) -> bool:
    return binding.machine in {"", desk.prune.machine}


def _bound(
    desk: HealthDesk, state: TeamState, registered: Sequence[Registered]
) -> Iterator[Finding]:
    binding = state.binding
    assert binding is not None
    plan = binding.plan
    where = f"`{plan}` at {binding.path} on `{binding.branch}`"
    if not _is_here(desk, binding):
        yield Finding(f"{where}: on another machine, `{binding.machine}`")
        return
    if not binding.is_whole:
        cure = f"`planbound spawn {shlex.quote(plan)}` clears it and makes it anew"
        yield Finding(f"half-made: {where}", cure)
        return
    try:
        lost = _lost(desk, binding, registered)
        if lost is not None:
            yield Finding(f"dangling: {where}: {lost}", _cure_of_lost(desk, state, registered))
            return
        yield from _marker(desk, binding)
        yield _standing(desk, state, where, registered)
    except PlanboundError as problem:
        yield Finding(f"{where}: {problem.message}", problem.hint or "mend what it names")


def _lost(desk: HealthDesk, binding: Binding, registered: Sequence[Registered]) -> str | None:
    if desk.prune.occupied(binding.path) is None:
        return "its folder is gone"
    wrong = mismatch(binding, desk.prune.repository)
    if wrong is None and all(each.path != binding.path or each.missing for each in registered):
        return "git does not list it"
    return wrong


def _cure_of_lost(desk: HealthDesk, state: TeamState, registered: Sequence[Registered]) -> str:
    assert state.binding is not None
    if desk.prune.occupied(state.binding.path) is not None:
        return (
            f"put `{state.binding.branch}` back there, or move the folder away: git commands in a"
            " folder that is no worktree act on whatever repository is around it"
        )
    try:
        examine(desk.prune, state, registered)
    except PlanboundError as problem:
        return problem.message
    return f"`planbound prune {shlex.quote(state.plan)}` forgets it: nothing of it is lost"


def _marker(desk: HealthDesk, binding: Binding) -> Iterator[Finding]:
    named = desk.prune.slots.marker(binding.workspace)
    if named == binding.plan:
        return
    marker = os.path.join(binding.workspace, ".harness", "active-plan")
    found = "is not there" if named is None else f"names `{named}`"
    cure = f"write `{binding.plan}` into it"
    yield Finding(f"the marker {marker} {found}, and the worktree is `{binding.plan}`'s", cure)


def _standing(
    desk: HealthDesk, state: TeamState, where: str, registered: Sequence[Registered]
) -> Finding:
    owner = desk.prune.owner(state.plan)
    status = "archived" if owner.is_archived else owner.status or "its plan is gone"
    try:
        examine(desk.prune, state, registered)
    except PlanboundError as problem:
        if state.integrated is None:
            return Finding(f"{where}: {status}")
        return Finding(f"{where}: {status}, merged; it stays: {problem.message}")
    merged = f"merged, not pruned: {where}: {status}, and nothing would be lost with it"
    return Finding(merged, f"`planbound prune {shlex.quote(state.plan)}`")


def _orphaned(
    desk: HealthDesk, registered: Sequence[Registered], bound: set[str]
) -> Iterator[Finding]:
    for each in registered:
        ours = each.path.startswith(f"{desk.root}/") or (each.branch or "").startswith(PREFIX)
        if each.is_main or each.path in bound or not ours:
            continue
        on = f"on `{each.branch}`" if each.branch else "with a detached HEAD"
        gone = ", and its folder is gone" if each.missing else ""
        cure = f"keep what you need of it, then `git worktree remove {each.path}`"
        yield Finding(f"orphaned: no plan has the worktree {each.path} {on}{gone}", cure)


def _fake(desk: HealthDesk, known: set[str]) -> Iterator[Finding]:
    """Yield the folders that look like a plan's worktree and are none."""
    for name in sorted(desk.folders):
        path = os.path.join(desk.root, name)
        if name not in desk.plans or path in known:
            continue
        if desk.prune.occupied(os.path.join(path, ".git")) is None:
            what = "git commands there act on whatever repository is around it"
        else:
            what = "it belongs to another repository"
        yield Finding(
            f"{path} looks like the worktree of `{name}` and is none: {what}", "move it away"
        )


def _pointers(desk: HealthDesk, bindings: Mapping[str, Binding]) -> Iterator[Finding]:
    for plan, path in sorted(desk.pointers.items()):
        binding = bindings.get(plan)
        if binding is None:
            said = f"`.harness/{POINTER}{plan}` says {path}, and no worktree is recorded"
            yield Finding(said, "remove it: the journal is right")
        elif _is_here(desk, binding) and path != binding.path:
            said = f"`.harness/{POINTER}{plan}` says {path}, and {binding.path} is recorded"
            yield Finding(said, f"write {binding.path} into it: the journal is right")
