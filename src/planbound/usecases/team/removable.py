"""Looks whether a plan's worktree can go: only where nothing of anybody would be lost with it."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from planbound.engine.team.pruning import Owner, files, in_use, lonely, results
from planbound.engine.team.rules import WorktreeRules
from planbound.engine.team.state import Binding, TeamState
from planbound.errors import Refused
from planbound.ports.git import Leftovers, Registered, Repository
from planbound.ports.slots import Slots
from planbound.usecases.team.bindings import mismatch

_MARKER = ".harness/active-plan"


class PruneDesk(NamedTuple):
    """What looking at worktrees needs, put together once."""

    repository: Repository
    slots: Slots
    rules: WorktreeRules
    owner: Callable[[str], Owner]
    """Returns what is known of a plan by now."""
    occupied: Callable[[str], str | None]
    """Says what is at a path, `a folder`, `a file`; None where nothing is."""
    inside: str
    """The workspace as seen from a worktree's top."""
    machine: str
    current: str | None = None
    """Where whoever asks is; None: that does not matter."""


class Removal(NamedTuple):
    """A worktree that can go, or what is left of one."""

    binding: Binding
    tip: str | None
    """The commit that its branch leads to; None where the branch is gone."""
    is_there: bool
    """Whether there is a folder."""
    is_registered: bool
    """Whether git knows it still."""
    is_marked: bool = False
    """Whether the marker has to be taken away first."""
    copies: tuple[str, ...] = ()
    """Copies of what the main workspace has, seen from the workspace: these go first, too."""


def examine(desk: PruneDesk, state: TeamState, registered: Sequence[Registered]) -> Removal:
    """Return how a worktree can go; raise with the reason where it stays.

    Whatever cannot be read is a reason to stay.
    """
    binding = state.binding
    if binding is None:
        raise Refused("it has no worktree")
    _refuse_elsewhere(desk, binding)
    listed = next((each for each in registered if each.path == binding.path), None)
    _refuse_needed(binding, listed, registered)
    tip = desk.repository.tip(binding.branch)
    there = desk.occupied(binding.path)
    if there is None:
        if tip is not None:
            _refuse_loss(desk, state, tip, registered, gone=True)
        return Removal(binding, tip, is_there=False, is_registered=listed is not None)
    if there != "a folder":  # what is behind a link may be anybody's
        raise Refused(f"there is {there} at `{binding.path}`")
    wrong = mismatch(binding, desk.repository)
    if wrong is not None:
        raise Refused(wrong)
    if listed is None or listed.missing or listed.is_main or listed.branch != binding.branch:
        raise Refused(f"git does not list `{binding.path}` as the worktree of `{binding.branch}`")
    if tip is None:
        raise Refused(f"its branch `{binding.branch}` leads to no commit")
    if desk.current is not None and _is_in(desk.current, binding.path):
        raise Refused("you are in it: go elsewhere first")
    _refuse_loss(desk, state, tip, registered)
    owner = desk.owner(state.plan)
    needed = in_use(state, owner, tip)
    if needed is not None:
        raise Refused(needed)
    return _emptied(desk, binding, owner, tip)


def _refuse_elsewhere(desk: PruneDesk, binding: Binding) -> None:
    if binding.machine not in {"", desk.machine}:
        raise Refused(f"it is on `{binding.machine}`: prune it there")
    if not binding.is_whole:
        raise Refused(
            f"it was left half-made: `planbound spawn {shlex.quote(binding.plan)}`"
            " clears it and makes it anew"
        )


def _refuse_needed(
    binding: Binding, listed: Registered | None, registered: Sequence[Registered]
) -> None:
    if listed is not None and listed.locked is not None:
        raise Refused(f"git has it locked: {listed.locked or 'no reason is given'}")
    for each in registered:
        if each.branch == binding.branch and each.path != binding.path:
            raise Refused(f"`{binding.branch}` is checked out at {each.path}, too")


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _refuse_loss(
    desk: PruneDesk,
    state: TeamState,
    tip: str,
    registered: Sequence[Registered],
    *,
    gone: bool = False,
) -> None:
    """Raise where a commit is nowhere else."""
    binding = state.binding
    assert binding is not None
    main = next(each for each in registered if each.is_main)
    targets = _targets(desk, state, main, binding.branch)
    missing = desk.repository.missing(tip, list(targets.values()), remotes=True)
    if not missing:
        return
    what = lonely(missing, list(targets))
    if gone:
        again = f"`planbound spawn {shlex.quote(state.plan)}` brings it back"
        raise Refused(f"its folder is gone, and of its branch {what}; {again}")
    raise Refused(what)


def _targets(desk: PruneDesk, state: TeamState, main: Registered, own: str) -> dict[str, str]:
    """Return where a plan's commits may be, each with the commit that it leads to."""
    repository = desk.repository
    integrated = state.integrated
    names = [integrated.into if integrated is not None else None, desk.rules.into, main.branch]
    found = {}
    for name in names:
        # In its own branch everything is: that says nothing.
        if name is not None and name != own and (commit := repository.tip(name)) is not None:
            found[name] = commit
    if main.branch is None and main.head is not None:
        found["HEAD"] = main.head
    return found


def _emptied(desk: PruneDesk, binding: Binding, owner: Owner, tip: str) -> Removal:
    """Return how a worktree goes in which nothing is that its commits do not hold."""
    repository = desk.repository
    found = repository.leftovers(binding.path, tip)
    if found.changed:
        raise Refused(files(found.changed, "not committed"))
    for name in repository.submodules(tip):
        if desk.occupied(os.path.join(binding.path, name, ".git")):
            raise Refused(f"the submodule `{name}` is checked out in it")
    named = desk.slots.marker(binding.workspace)
    if named is not None and named != binding.plan:
        raise Refused(f"its marker names `{named}`")
    marker = os.path.normpath(os.path.join(desk.inside, _MARKER))
    inside = {name: os.path.relpath(name, desk.inside) for name in found.untracked}
    copies = [name for name in found.untracked if _is_same(desk, binding, inside[name])]
    strange = [name for name in found.untracked if name != marker and name not in set(copies)]
    if strange:
        raise Refused(files(strange, "untracked"))
    _refuse_ignored(desk, binding, owner, found)
    return Removal(
        binding,
        tip,
        is_there=True,
        is_registered=True,
        is_marked=marker in found.untracked,
        copies=tuple(inside[name] for name in copies),
    )


def _refuse_ignored(desk: PruneDesk, binding: Binding, owner: Owner, found: Leftovers) -> None:
    """Raise where something that git ignores is more than a tool's leavings."""
    plain, edited = [], []
    for name in found.ignored:
        if name.endswith("/"):  # git lists files, but looks into no repository
            raise Refused(f"a repository of its own is in it, which git ignores: {name}")
        inside = os.path.relpath(name, desk.inside)
        if _is_copied(binding, inside):
            same = desk.slots.is_same(inside, binding.workspace)
            if same is False or (same is None and inside in binding.copied):
                edited.append(name)
        else:
            plain.append(inside)
    if edited:
        raise Refused(files(edited, "not what the main workspace has"))
    made = results(plain, owner)
    if made:
        raise Refused(files(made, "ignored by git, and a result of the plan"))


def _is_copied(binding: Binding, inside: str) -> bool:
    return any(inside == each or inside.startswith(f"{each}/") for each in binding.copied)


def _is_same(desk: PruneDesk, binding: Binding, inside: str) -> bool:
    return _is_copied(binding, inside) and bool(desk.slots.is_same(inside, binding.workspace))
