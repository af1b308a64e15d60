"""Spawn: a worktree and a branch for one plan, made whole or not at all."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from planbound.disk.files import PlanFile
from planbound.errors import GitProblem, NothingToDo, PlanboundError, Refused, UsageError
from planbound.git.place import git_place, machine, make_repository, mismatch
from planbound.git.repository import Registered, Repository
from planbound.journal.event import WorktreeRemoved, WorktreeRequested, WorktreeSpawned
from planbound.state.append import Recorder
from planbound.state.place import Binding, TeamState, branch_names
from planbound.state.plan import known_of, known_team
from planbound.team.worktree import (
    WorktreeFiles,
    occupied,
    run_setup,
    spawn_lock,
    worktrees_root,
)
from planbound.workspace.context import Context
from planbound.workspace.root import plans_root, refuse_lost


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


def spawn_plan(
    context: Context,
    file: PlanFile,
    base: str | None,
    *,
    merges: tuple[str, str] | None = None,
    builds_on: Sequence[str] = (),
) -> Spawned:
    """Make the worktree of a plan.

    `base` is a revision; None: where the main worktree is. `merges` is a commit whose conflicts
    are to be resolved, and the tree that holds them. `builds_on` are the plans whose work is in
    the base.
    """
    spawner = Spawner(context)
    with spawn_lock(context):
        return spawner.spawn(file.slug, base, merges=merges, builds_on=builds_on)


class Spawner:
    """Makes the worktrees of plans; the caller holds the lock under which that is done."""

    def __init__(self, context: Context) -> None:
        place = git_place(context)
        refuse_lost(place)
        self.context = context
        self.repository: Repository = make_repository(context)
        self.recorder: Recorder = context.recorder()
        self.files = WorktreeFiles(plans_root(context.root))
        self.rules = context.configuration.worktrees
        self.root = worktrees_root(context)
        self.inside = place.inside
        """The workspace as seen from a worktree's top."""
        self.machine = machine()

    def spawn(
        self,
        slug: str,
        base: str | None = None,
        *,
        merges: tuple[str, str] | None = None,
        builds_on: Sequence[str] = (),
    ) -> Spawned:
        """Make the worktree of a plan, anew where its folder is gone."""
        state = known_of(self.recorder.journal, slug)
        registered = self.repository.registered()
        known = state.binding
        if known is not None and known.is_whole:
            self._refuse_present(known, registered)
            return self._make_again(known)
        if known is not None:
            self._clear(known, registered)
        commit = self._base(base)
        binding = self._planned(slug, commit)._replace(builds_on=tuple(builds_on))
        self._refuse_too_many(slug)
        # Before anything happens: whoever is cut off leaves a trace of what may be there.
        self.recorder.record(_requested(binding), slug)
        made = _NewWorktree(self, binding)
        try:
            self.repository.add(binding.path, binding.branch, commit)
            made.furnish(merges)
        except BaseException as error:
            raise made.undo(error) from error
        return made.finish()

    def _refuse_present(self, known: Binding, registered: Sequence[Registered]) -> None:
        """Raise unless the folder of a worktree is gone."""
        if known.machine not in {"", self.machine}:
            raise Refused(
                f"`{known.plan}` has its worktree on `{known.machine}`: {known.path}",
                hint=f"prune it there first: `planbound prune {shlex.quote(known.plan)}`",
            )
        if occupied(known.path) is not None:
            wrong = mismatch(known, self.repository)
            if wrong is None:
                raise AlreadySpawned(known)
            raise Refused(
                f"workspace-mismatch: {wrong}", hint="`planbound doctor` tells what is there"
            )
        for each in registered:
            if each.path == known.path and each.locked is not None:
                raise Refused(
                    f"`{known.path}` is gone, and git has it locked: {each.locked or 'no reason'}",
                    hint=f"`git worktree unlock {known.path}` says that it will not come back",
                )

    def _make_again(self, lost: Binding) -> Spawned:
        """Make a worktree anew whose folder is gone, on the branch that it had."""
        tip = self.repository.commit_of(f"refs/heads/{lost.branch}")
        if tip is None:
            raise Refused(
                f"the worktree of `{lost.plan}` is gone, and so is its branch `{lost.branch}`",
                hint=f"`planbound prune {shlex.quote(lost.plan)}` forgets it, then spawn it again",
            )
        if any(each.path == lost.path for each in self.repository.registered()):
            self.repository.remove(lost.path)
        made = _NewWorktree(self, lost._replace(copied=()), anew=True)
        try:
            self.repository.add(lost.path, lost.branch, tip, new=False)
            made.furnish(None)
        except BaseException as error:
            raise made.undo(error) from error
        done = made.finish()
        anew = f"its folder was gone: made anew on `{lost.branch}`"
        note = f"{anew}; what was not committed there is lost"
        return done._replace(notes=(note, *done.notes))

    def _clear(self, half: Binding, registered: Sequence[Registered]) -> None:
        """Take away what somebody left who was cut off, if nobody has worked in it."""
        repository = self.repository
        is_ours = any(each.path == half.path and each.branch == half.branch for each in registered)
        if is_ours and occupied(half.path):
            foreign = self._foreign(half)
            if foreign:
                raise Refused(
                    f"`{half.path}` was left half-made, and holds work: {', '.join(foreign[:5])}",
                    hint=f"look at it, and remove it yourself: `git worktree remove {half.path}`",
                )
            self.files.unmark(half.workspace, half.plan)
            repository.remove(half.path, force=True)
        elif is_ours:
            repository.remove(half.path)
        elif occupied(half.path):
            raise Refused(
                f"`{half.path}` was left half-made, and git does not know it",
                hint="look at it, and remove it yourself",
            )
        repository.move(half.branch, None, half.base, "planbound: half-made worktree")
        self.files.point(half.plan, None)

    def _foreign(self, half: Binding) -> list[str]:
        """Return what is in a half-made worktree that the harness has not put there."""
        try:
            found = self.repository.leftovers(half.path, half.base)
        except GitProblem as problem:
            return [problem.message]
        # A file that is not there was not checked out yet.
        changed = [name for name in found.changed if occupied(f"{half.path}/{name}")]
        return changed + [name for name in found.untracked if not self._is_setup(name)]

    def _is_setup(self, name: str) -> bool:
        copied = [item.copy for item in self.rules.setup if item.copy]
        inside = os.path.relpath(name, self.inside)
        return inside.startswith(".harness/") or any(
            inside == each or inside.startswith(f"{each}/") for each in copied
        )

    def _base(self, revision: str | None) -> str:
        commit = self.repository.commit_of(revision or "HEAD")
        if commit is not None:
            return commit
        if revision is not None:
            raise UsageError(f"`{revision}` names no commit of this repository")
        raise Refused(
            "the repository has no commit yet, and a worktree begins with one",
            hint="commit something first",
        )

    def _planned(self, slug: str, commit: str) -> Binding:
        path = os.path.join(self.root, slug)
        there = occupied(path)
        if there is not None:
            raise Refused(
                f"there is {there} at `{path}`, and nothing is made over it",
                hint="move it away, or name another folder: `[worktrees] root`",
            )
        branch = branch_names(slug, self.repository.branches())
        return Binding(
            plan=slug,
            path=path,
            branch=branch,
            base=commit,
            workspace=os.path.normpath(os.path.join(path, self.inside)),
            machine=self.machine,
        )

    def _refuse_too_many(self, slug: str) -> None:
        live = [
            state.plan
            for state in known_team(self.recorder.journal).values()
            if self._is_live(state) and state.plan != slug
        ]
        if len(live) >= self.rules.limit:
            raise Refused(
                f"there are {len(live)} worktrees already, and `[worktrees] limit` is"
                f" {self.rules.limit}: {', '.join(sorted(live)[:10])}",
                hint="`planbound prune` removes those that are merged",
            )

    def _is_live(self, state: TeamState) -> bool:
        binding = state.binding
        return (
            binding is not None
            and binding.machine in {"", self.machine}
            and occupied(binding.path) is not None
        )


def _requested(binding: Binding) -> WorktreeRequested:
    return WorktreeRequested(
        path=binding.path,
        branch=binding.branch,
        base=binding.base,
        machine=binding.machine,
        workspace=binding.workspace if binding.workspace != binding.path else None,
        builds_on=binding.builds_on or None,
    )


class _NewWorktree:
    """A worktree on its way."""

    def __init__(self, spawner: Spawner, binding: Binding, *, anew: bool = False) -> None:
        self.spawner = spawner
        self.binding = binding
        self.notes: list[str] = []
        self._anew = anew

    def furnish(self, merges: tuple[str, str] | None) -> None:
        """Bring in what a checkout does not, then mark it."""
        spawner, binding = self.spawner, self.binding
        self._confirm()
        if merges is not None:
            commit, tree = merges
            self.binding = binding = binding._replace(merges=commit)
            in_the_way = spawner.repository.check_out(binding.path, binding.base, tree)
            if in_the_way is not None:
                raise GitProblem(f"the conflicts cannot be laid out: {in_the_way}")
            spawner.repository.take_as_it_is(binding.path, binding.base)
        copied: list[str] = []
        for item in spawner.rules.setup:
            if item.copy is None:
                continue
            if spawner.files.copy(item.copy, binding.workspace):
                copied.append(item.copy)
            else:
                self.notes.append(f"`{item.copy}` is not there, so it was not copied")
        made = self._run_setup()
        self.binding = binding._replace(copied=tuple(copied), made=made)
        spawner.files.mark(binding.workspace, binding.plan)
        spawner.files.point(binding.plan, binding.path)

    def _run_setup(self) -> tuple[str, ...]:
        """Run the commands of the setup; return what they made that git does not ignore."""
        spawner, binding = self.spawner, self.binding
        commands = [item.run for item in spawner.rules.setup if item.run is not None]
        if not commands:
            return ()
        before = self._untracked()
        for command in commands:
            failed = run_setup(spawner.context, command, binding.workspace)
            if failed:
                raise Refused(
                    f"`{command}` failed in the new worktree: {failed}",
                    hint="mend `[worktrees] setup`, then spawn it again",
                )
        return tuple(name for name in self._untracked() if name not in before)

    def _untracked(self) -> tuple[str, ...]:
        repository, binding = self.spawner.repository, self.binding
        tip = repository.commit_of(f"refs/heads/{binding.branch}") or binding.base
        return repository.leftovers(binding.path, tip, fold=True).untracked

    def _confirm(self) -> None:
        """Look whether git has what it said it made: otherwise every command would go astray."""
        for each in self.spawner.repository.registered():
            if each.path == self.binding.path and not each.missing and not each.is_main:
                if each.branch == self.binding.branch:
                    return
                raise GitProblem(f"git has `{each.branch}` at `{each.path}`, not the new branch")
        raise GitProblem(f"git does not list `{self.binding.path}` as a worktree")

    def finish(self) -> Spawned:
        """Record that it is whole."""
        binding = self.binding
        asked = _requested(binding)
        event = WorktreeSpawned(
            path=asked.path,
            branch=asked.branch,
            base=asked.base,
            machine=asked.machine,
            workspace=asked.workspace,
            builds_on=asked.builds_on,
            copied=binding.copied or None,
            made=binding.made or None,
            merges=binding.merges,
        )
        self.spawner.recorder.record(event, binding.plan)
        return Spawned(binding, tuple(self.notes))

    def undo(self, error: BaseException) -> BaseException:
        """Take back what was made; return the error, with what survived."""
        spawner, binding = self.spawner, self.binding
        survived: list[str] = []
        self._attempt(
            survived, "the marker", lambda: spawner.files.unmark(binding.workspace, binding.plan)
        )
        self._attempt(survived, "the pointer", lambda: spawner.files.point(binding.plan, None))
        self._attempt(survived, f"the folder `{binding.path}`", self._remove_folder)
        if not self._anew:
            self._attempt(survived, f"the branch `{binding.branch}`", self._remove_branch)
            reason = error.message if isinstance(error, PlanboundError) else "interrupted"
            event = WorktreeRemoved(
                path=binding.path, reason=reason, survived=tuple(survived) or None
            )
            self._attempt(
                survived,
                "a record of it",
                lambda: spawner.recorder.record(event, binding.plan),
            )
        if isinstance(error, PlanboundError):
            left = (
                f"; what survived: {', '.join(survived)}" if survived else "; nothing of it is left"
            )
            error.message += left
        return error

    def _remove_folder(self) -> None:
        repository, path = self.spawner.repository, self.binding.path
        if any(each.path == path for each in repository.registered()):
            repository.remove(path, force=True)
        elif occupied(path) is not None:
            raise Refused("git does not know it")

    def _remove_branch(self) -> None:
        repository, binding = self.spawner.repository, self.binding
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
