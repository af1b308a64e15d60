"""Spawn: a worktree and a branch for one plan, made whole or not at all."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from planbound.engine.team.rules import WorktreeRules
from planbound.engine.team.slot import branch_names
from planbound.engine.team.state import Binding, TeamState
from planbound.errors import GitProblem, NothingToDo, PlanboundError, Refused, UsageError
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.ports.git import Registered, Repository
from planbound.ports.slots import Slots
from planbound.usecases.record import Recorder
from planbound.usecases.team.bindings import known_of, known_team, mismatch


class SpawnDesk(NamedTuple):
    """What spawning needs, put together once."""

    repository: Repository
    recorder: Recorder
    slots: Slots
    rules: WorktreeRules
    root: str
    """The folder of the worktrees."""
    inside: str
    """The workspace as seen from a worktree's top."""
    machine: str
    run_setup: Callable[[str, str], str | None]
    """Runs a command in a workspace; returns why it failed."""
    occupied: Callable[[str], str | None]
    """Says what is at a path, `a folder`, `a file`; None where nothing is."""


class AlreadySpawned(NothingToDo):
    """The plan has its worktree already."""

    def __init__(self, binding: Binding) -> None:
        super().__init__(f"`{binding.plan}` has its worktree already: {binding.path}")
        self.binding = binding


class Spawned(NamedTuple):
    """A worktree that was made."""

    binding: Binding
    notes: tuple[str, ...] = ()
    """What the person should know."""


def spawn(
    desk: SpawnDesk,
    slug: str,
    base: str | None = None,
    *,
    merges: tuple[str, str] | None = None,
    builds_on: Sequence[str] = (),
) -> Spawned:
    """Make the worktree of a plan; the caller holds the lock under which that is done.

    `base` is a revision; None: where the main worktree is. `merges` is a commit whose conflicts
    are to be resolved, and the tree that holds them. `builds_on` are the plans whose work is in
    the base.
    """
    state = known_of(desk.recorder.journal, slug)
    registered = desk.repository.registered()
    known = state.binding
    if known is not None and known.is_whole:
        _refuse_present(desk, known, registered)
        return _again(desk, known)
    if known is not None:
        _clear(desk, known, registered)
    commit = _base(desk, base)
    binding = _planned(desk, slug, commit)._replace(builds_on=tuple(builds_on))
    _refuse_crowd(desk, slug)
    # Before anything happens: whoever is cut off leaves a trace of what may be there.
    desk.recorder.record(EventKind.WORKTREE_REQUESTED, slug, _details(binding))
    making = _Making(desk, binding)
    try:
        desk.repository.add(binding.path, binding.branch, commit)
        making.furnish(merges)
    except BaseException as error:
        raise making.undo(error) from error
    return making.finish()


def _refuse_present(desk: SpawnDesk, known: Binding, registered: Sequence[Registered]) -> None:
    """Raise unless the folder of a worktree is gone."""
    if known.machine not in {"", desk.machine}:
        raise Refused(
            f"`{known.plan}` has its worktree on `{known.machine}`: {known.path}",
            hint=f"prune it there first: `planbound prune {shlex.quote(known.plan)}`",
        )
    if desk.occupied(known.path) is not None:
        wrong = mismatch(known, desk.repository)
        if wrong is None:
            raise AlreadySpawned(known)
        raise Refused(f"workspace-mismatch: {wrong}", hint="`planbound doctor` tells what is there")
    for each in registered:
        if each.path == known.path and each.locked is not None:
            raise Refused(
                f"`{known.path}` is gone, and git has it locked: {each.locked or 'no reason'}",
                hint=f"`git worktree unlock {known.path}` says that it will not come back",
            )


def _again(desk: SpawnDesk, lost: Binding) -> Spawned:
    """Make a worktree anew whose folder is gone, on the branch that it had."""
    tip = desk.repository.commit_of(f"refs/heads/{lost.branch}")
    if tip is None:
        raise Refused(
            f"the worktree of `{lost.plan}` is gone, and so is its branch `{lost.branch}`",
            hint=f"`planbound prune {shlex.quote(lost.plan)}` forgets it, then spawn it again",
        )
    if any(each.path == lost.path for each in desk.repository.registered()):
        desk.repository.remove(lost.path)
    making = _Making(desk, lost._replace(copied=()), anew=True)
    try:
        desk.repository.add(lost.path, lost.branch, tip, new=False)
        making.furnish(None)
    except BaseException as error:
        raise making.undo(error) from error
    done = making.finish()
    note = (
        f"its folder was gone: made anew on `{lost.branch}`; what was not committed there is lost"
    )
    return done._replace(notes=(note, *done.notes))


def _clear(desk: SpawnDesk, half: Binding, registered: Sequence[Registered]) -> None:
    """Take away what somebody left who was cut off, if nobody has worked in it."""
    repository = desk.repository
    is_ours = any(each.path == half.path and each.branch == half.branch for each in registered)
    if is_ours and desk.occupied(half.path):
        strange = _strange(desk, half)
        if strange:
            raise Refused(
                f"`{half.path}` was left half-made, and holds work: {', '.join(strange[:5])}",
                hint=f"look at it, and remove it yourself: `git worktree remove {half.path}`",
            )
        desk.slots.unmark(half.workspace, half.plan)
        repository.remove(half.path, force=True)
    elif is_ours:
        repository.remove(half.path)
    elif desk.occupied(half.path):
        raise Refused(
            f"`{half.path}` was left half-made, and git does not know it",
            hint="look at it, and remove it yourself",
        )
    repository.move(half.branch, None, half.base, "planbound: half-made worktree")
    desk.slots.point(half.plan, None)


def _strange(desk: SpawnDesk, half: Binding) -> list[str]:
    """Return what is in a half-made worktree that the harness has not put there."""
    try:
        found = desk.repository.leftovers(half.path, half.base)
    except GitProblem as problem:
        return [problem.message]
    # A file that is not there was not checked out yet.
    changed = [name for name in found.changed if desk.occupied(f"{half.path}/{name}")]
    return changed + [name for name in found.untracked if not _is_setup(desk, name)]


def _is_setup(desk: SpawnDesk, name: str) -> bool:
    copied = [item.copy for item in desk.rules.setup if item.copy]
    inside = os.path.relpath(name, desk.inside)
    return inside.startswith(".harness/") or any(
        inside == each or inside.startswith(f"{each}/") for each in copied
    )


def _base(desk: SpawnDesk, revision: str | None) -> str:
    commit = desk.repository.commit_of(revision or "HEAD")
    if commit is not None:
        return commit
    if revision is not None:
        raise UsageError(f"`{revision}` names no commit of this repository")
    raise Refused(
        "the repository has no commit yet, and a worktree begins with one",
        hint="commit something first",
    )


def _planned(desk: SpawnDesk, slug: str, commit: str) -> Binding:
    path = os.path.join(desk.root, slug)
    there = desk.occupied(path)
    if there is not None:
        raise Refused(
            f"there is {there} at `{path}`, and nothing is made over it",
            hint="move it away, or name another folder: `[worktrees] root`",
        )
    branch = branch_names(slug, desk.repository.branches())
    return Binding(
        plan=slug,
        path=path,
        branch=branch,
        base=commit,
        workspace=os.path.normpath(os.path.join(path, desk.inside)),
        machine=desk.machine,
    )


def _refuse_crowd(desk: SpawnDesk, slug: str) -> None:
    live = [
        state.plan
        for state in known_team(desk.recorder.journal).values()
        if _is_live(desk, state) and state.plan != slug
    ]
    if len(live) >= desk.rules.limit:
        raise Refused(
            f"there are {len(live)} worktrees already, and `[worktrees] limit` is"
            f" {desk.rules.limit}: {', '.join(sorted(live)[:10])}",
            hint="`planbound prune` removes those that are merged",
        )


def _is_live(desk: SpawnDesk, state: TeamState) -> bool:
    binding = state.binding
    return (
        binding is not None
        and binding.machine in {"", desk.machine}
        and desk.occupied(binding.path) is not None
    )


def _details(binding: Binding) -> dict[str, Json]:
    details: dict[str, Json] = {
        "path": binding.path,
        "branch": binding.branch,
        "base": binding.base,
        "machine": binding.machine,
    }
    if binding.workspace != binding.path:
        details["workspace"] = binding.workspace
    if binding.builds_on:
        details["builds_on"] = list(binding.builds_on)
    return details


class _Making:
    """A worktree on its way."""

    def __init__(self, desk: SpawnDesk, binding: Binding, *, anew: bool = False) -> None:
        self.desk = desk
        self.binding = binding
        self.notes: list[str] = []
        self._anew = anew

    def furnish(self, merges: tuple[str, str] | None) -> None:
        """Bring in what a checkout does not, then mark it."""
        desk, binding = self.desk, self.binding
        self._confirm()
        if merges is not None:
            commit, tree = merges
            self.binding = binding = binding._replace(merges=commit)
            in_the_way = desk.repository.check_out(binding.path, binding.base, tree)
            if in_the_way is not None:
                raise GitProblem(f"the conflicts cannot be laid out: {in_the_way}")
            desk.repository.take_as_it_is(binding.path, binding.base)
        copied: list[str] = []
        for item in desk.rules.setup:
            if item.copy is None:
                continue
            if desk.slots.copy(item.copy, binding.workspace):
                copied.append(item.copy)
            else:
                self.notes.append(f"`{item.copy}` is not there, so it was not copied")
        made = self._run_setup()
        self.binding = binding._replace(copied=tuple(copied), made=made)
        desk.slots.mark(binding.workspace, binding.plan)
        desk.slots.point(binding.plan, binding.path)

    def _run_setup(self) -> tuple[str, ...]:
        """Run the commands of the setup; return what they made that git does not ignore."""
        desk, binding = self.desk, self.binding
        commands = [item.run for item in desk.rules.setup if item.run is not None]
        if not commands:
            return ()
        before = self._untracked()
        for command in commands:
            failed = desk.run_setup(command, binding.workspace)
            if failed:
                raise Refused(
                    f"`{command}` failed in the new worktree: {failed}",
                    hint="mend `[worktrees] setup`, then spawn it again",
                )
        return tuple(name for name in self._untracked() if name not in before)

    def _untracked(self) -> tuple[str, ...]:
        repository, binding = self.desk.repository, self.binding
        tip = repository.commit_of(f"refs/heads/{binding.branch}") or binding.base
        return repository.leftovers(binding.path, tip, fold=True).untracked

    def _confirm(self) -> None:
        """Look whether git has what it said it made: otherwise every command would go astray."""
        for each in self.desk.repository.registered():
            if each.path == self.binding.path and not each.missing and not each.is_main:
                if each.branch == self.binding.branch:
                    return
                raise GitProblem(f"git has `{each.branch}` at `{each.path}`, not the new branch")
        raise GitProblem(f"git does not list `{self.binding.path}` as a worktree")

    def finish(self) -> Spawned:
        """Record that it is whole."""
        binding = self.binding
        details = _details(binding)
        if binding.copied:
            details["copied"] = list(binding.copied)
        if binding.made:
            details["made"] = list(binding.made)
        if binding.merges is not None:
            details["merges"] = binding.merges
        self.desk.recorder.record(EventKind.WORKTREE_SPAWNED, binding.plan, details)
        return Spawned(binding, tuple(self.notes))

    def undo(self, error: BaseException) -> BaseException:
        """Take back what was made; return the error, with what survived."""
        desk, binding = self.desk, self.binding
        survived: list[str] = []
        self._attempt(
            survived, "the marker", lambda: desk.slots.unmark(binding.workspace, binding.plan)
        )
        self._attempt(survived, "the pointer", lambda: desk.slots.point(binding.plan, None))
        self._attempt(survived, f"the folder `{binding.path}`", self._remove_folder)
        if not self._anew:
            self._attempt(survived, f"the branch `{binding.branch}`", self._remove_branch)
            reason = error.message if isinstance(error, PlanboundError) else "interrupted"
            details: dict[str, Json] = {"path": binding.path, "reason": reason}
            if survived:
                details["survived"] = list(survived)
            self._attempt(
                survived,
                "a record of it",
                lambda: desk.recorder.record(EventKind.WORKTREE_REMOVED, binding.plan, details),
            )
        if isinstance(error, PlanboundError):
            left = (
                f"; what survived: {', '.join(survived)}" if survived else "; nothing of it is left"
            )
            error.message += left
        return error

    def _remove_folder(self) -> None:
        repository, path = self.desk.repository, self.binding.path
        if any(each.path == path for each in repository.registered()):
            repository.remove(path, force=True)
        elif self.desk.occupied(path) is not None:
            raise Refused("git does not know it")

    def _remove_branch(self) -> None:
        repository, binding = self.desk.repository, self.binding
        name = f"refs/heads/{binding.branch}"
        if repository.commit_of(name) is None:
            return
        if not repository.move(binding.branch, None, binding.base, "planbound: undone"):
            raise Refused("it leads elsewhere by now")

    def _attempt(self, survived: list[str], what: str, action: Callable[[], object]) -> None:
        try:
            action()
        except PlanboundError as problem:
            survived.append(f"{what} ({problem.message})")
