"""What `planbound doctor` says of the worktrees of plans: the journal, git, and the folders."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.errors import FileProblem, GitProblem, PlanboundError
from planbound.git.place import mismatch
from planbound.git.repository import Registered
from planbound.state.place import POINTER, PREFIX, Binding, TeamState
from planbound.state.plan import known_team
from planbound.team.removal import Examiner
from planbound.team.worktree import occupied, worktrees_root
from planbound.workspace.context import Context
from planbound.workspace.root import HARNESS, find_git, plans_root

_MAX_POINTER = 16 * 1024


class HealthFinding(NamedTuple):
    """One thing to know about a worktree."""

    message: str
    cure: str | None = None
    """None: it is as it should be."""


def worktree_findings(context: Context) -> list[HealthFinding]:
    """Return what there is to say about the worktrees; git is not asked where there are none."""
    if find_git(plans_root(context.root)) is None:
        return []
    states = known_team(context.existing_journal())
    pointers = _pointers(context)
    root = worktrees_root(context)
    has_binding = any(state.binding is not None for state in states.values())
    if not has_binding and not pointers and not os.path.isdir(root):
        return []
    return _WorktreeHealth(context, states, pointers, root).findings()


class _WorktreeHealth:
    """Looks at every worktree, and at what only looks like one."""

    def __init__(
        self,
        context: Context,
        states: Mapping[str, TeamState],
        pointers: Mapping[str, str],
        root: str,
    ) -> None:
        """`pointers` say by plan where a worktree is by what the main `.harness/` says."""
        self.examiner = Examiner(context, current=None)
        self.states = states
        self.pointers = pointers
        self.root = root
        """The folder of the worktrees."""
        self.folders = _folders(root)
        """The names of the folders in it."""
        self.plans = frozenset({*states, *self.examiner.lines})
        """The names of all plans."""

    def findings(self) -> list[HealthFinding]:
        """Return what there is to say about every worktree, and about what only looks like one."""
        bindings = {plan: state.binding for plan, state in self.states.items() if state.binding}
        try:
            registered = self.examiner.repository.registered()
        except GitProblem as problem:
            cure = problem.hint or "mend what it names: worktrees cannot be looked at"
            return [HealthFinding(problem.message, cure)]
        found = [
            finding
            for plan in sorted(bindings)
            for finding in self._bound(self.states[plan], registered)
        ]
        here = {each.path for each in bindings.values() if self._is_here(each)}
        found += self._orphaned(registered, here)
        found += self._lookalikes({each.path for each in registered} | here)
        found += self._wrong_pointers(bindings)
        return found

    def _is_here(self, binding: Binding) -> bool:
        return binding.machine in {"", self.examiner.machine}

    def _bound(self, state: TeamState, registered: Sequence[Registered]) -> Iterator[HealthFinding]:
        binding = state.binding
        assert binding is not None
        plan = binding.plan
        where = f"`{plan}` at {binding.path} on `{binding.branch}`"
        if not self._is_here(binding):
            yield HealthFinding(f"{where}: on another machine, `{binding.machine}`")
            return
        if not binding.is_whole:
            cure = f"`planbound spawn {shlex.quote(plan)}` clears it and makes it anew"
            yield HealthFinding(f"half-made: {where}", cure)
            return
        try:
            lost = self._lost(binding, registered)
            if lost is not None:
                yield HealthFinding(
                    f"dangling: {where}: {lost}", self._cure_of_lost(state, registered)
                )
                return
            yield from self._marker(binding)
            yield self._state(state, where, registered)
        except PlanboundError as problem:
            yield HealthFinding(f"{where}: {problem.message}", problem.hint or "mend what it names")

    def _lost(self, binding: Binding, registered: Sequence[Registered]) -> str | None:
        if occupied(binding.path) is None:
            return "its folder is gone"
        wrong = mismatch(binding, self.examiner.repository)
        if wrong is None and all(each.path != binding.path or each.missing for each in registered):
            return "git does not list it"
        return wrong

    def _cure_of_lost(self, state: TeamState, registered: Sequence[Registered]) -> str:
        assert state.binding is not None
        if occupied(state.binding.path) is not None:
            return (
                f"put `{state.binding.branch}` back there, or move the folder away: git commands in"
                " a folder that is no worktree act on whatever repository is around it"
            )
        try:
            self.examiner.examine(state, registered)
        except PlanboundError as problem:
            return problem.message
        return f"`planbound prune {shlex.quote(state.plan)}` forgets it: nothing of it is lost"

    def _marker(self, binding: Binding) -> Iterator[HealthFinding]:
        named = self.examiner.files.marker(binding.workspace)
        if named == binding.plan:
            return
        marker = os.path.join(binding.workspace, ".harness", "active-plan")
        found = "is not there" if named is None else f"names `{named}`"
        cure = f"write `{binding.plan}` into it"
        yield HealthFinding(
            f"the marker {marker} {found}, and the worktree is `{binding.plan}`'s", cure
        )

    def _state(
        self, state: TeamState, where: str, registered: Sequence[Registered]
    ) -> HealthFinding:
        plan = self.examiner.plan_now(state.plan)
        known = plan.status.value if plan.status else "its plan is gone"
        status = "archived" if plan.is_archived else known
        try:
            self.examiner.examine(state, registered)
        except PlanboundError as problem:
            if state.integrated is None:
                return HealthFinding(f"{where}: {status}")
            return HealthFinding(f"{where}: {status}, merged; it stays: {problem.message}")
        merged = f"merged, not pruned: {where}: {status}, and nothing would be lost with it"
        return HealthFinding(merged, f"`planbound prune {shlex.quote(state.plan)}`")

    def _orphaned(
        self, registered: Sequence[Registered], bound: set[str]
    ) -> Iterator[HealthFinding]:
        for each in registered:
            ours = each.path.startswith(f"{self.root}/") or (each.branch or "").startswith(PREFIX)
            if each.is_main or each.path in bound or not ours:
                continue
            on = f"on `{each.branch}`" if each.branch else "with a detached HEAD"
            gone = ", and its folder is gone" if each.missing else ""
            cure = f"keep what you need of it, then `git worktree remove {each.path}`"
            yield HealthFinding(f"orphaned: no plan has the worktree {each.path} {on}{gone}", cure)

    def _lookalikes(self, known: set[str]) -> Iterator[HealthFinding]:
        """Yield the folders that look like a plan's worktree and are none."""
        for name in sorted(self.folders):
            path = os.path.join(self.root, name)
            if name not in self.plans or path in known:
                continue
            if occupied(os.path.join(path, ".git")) is None:
                what = "git commands there act on whatever repository is around it"
            else:
                what = "it belongs to another repository"
            yield HealthFinding(
                f"{path} looks like the worktree of `{name}` and is none: {what}", "move it away"
            )

    def _wrong_pointers(self, bindings: Mapping[str, Binding]) -> Iterator[HealthFinding]:
        for plan, path in sorted(self.pointers.items()):
            binding = bindings.get(plan)
            if binding is None:
                said = f"`.harness/{POINTER}{plan}` says {path}, and no worktree is recorded"
                yield HealthFinding(said, "remove it: the journal is right")
            elif self._is_here(binding) and path != binding.path:
                said = f"`.harness/{POINTER}{plan}` says {path}, and {binding.path} is recorded"
                yield HealthFinding(said, f"write {binding.path} into it: the journal is right")


def _folders(root: str) -> list[str]:
    try:
        with os.scandir(root) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FileProblem(f"cannot list `{root}`: {error.strerror}") from error


def _pointers(context: Context) -> dict[str, str]:
    folder = os.path.join(plans_root(context.root), HARNESS)
    found = {}
    for name in _names(folder):
        try:
            with open(
                os.path.join(folder, name), encoding="utf-8", errors="surrogateescape"
            ) as file:
                found[name.removeprefix(POINTER)] = file.read(_MAX_POINTER).strip()
        except OSError as error:
            raise FileProblem(f"cannot read `{folder}/{name}`: {error.strerror}") from error
    return found


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [e.name for e in entries if e.name.startswith(POINTER) and e.is_file()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise FileProblem(f"cannot list `{folder}`: {error.strerror}") from error
