"""Removes worktrees of plans: only where nothing of anybody would be lost with them."""

from __future__ import annotations

import os
import os.path
import shlex
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from planbound.disk.files import Shelf
from planbound.errors import JournalProblem, NothingToDo, PlanboundError, Refused, UsageError
from planbound.git.place import git_place, machine, make_repository, mismatch
from planbound.git.repository import Leftovers, Registered, Repository
from planbound.journal.event import WorktreeRemoved
from planbound.journal.leases import hold_lease, my_claim
from planbound.judging.case import is_cache
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import PlanStatus
from planbound.state.place import Binding, TeamState
from planbound.state.plan import known_team
from planbound.team.worktree import WorktreeFiles, occupied, spawn_lock
from planbound.workspace.context import Context
from planbound.workspace.manifest import SUMMARISED
from planbound.workspace.overview import PlanLine, overview
from planbound.workspace.root import plans_root

# -- whether a plan's worktree can go: only where nothing of anybody would be lost with it -------


_MARKER = ".harness/active-plan"
_SHOWN = 3
_ID = 12
_INSTALLED = frozenset(name.decode() for name in SUMMARISED)


class PlanNow(NamedTuple):
    """The plan that a worktree belongs to, as it is by now."""

    status: PlanStatus | None = None
    """None: its file is gone."""
    is_archived: bool = False
    touches: tuple[str, ...] = ()
    """All that the plan may change."""
    artifacts: tuple[str, ...] = ()
    """What is to be there at its end."""
    problem: str | None = None
    """Why its file cannot be read."""


def _still_needed(state: TeamState, plan: PlanNow, tip: str) -> str | None:
    """Return why a worktree is needed still, although all its commits are elsewhere too."""
    if plan.problem is not None:
        return f"its plan cannot be read: {plan.problem}"
    if plan.status is None or plan.is_archived:
        return None
    if plan.status is PlanStatus.IN_PROGRESS:
        return "the plan is in progress"
    if state.integrated is None and state.binding is not None and tip == state.binding.base:
        return f"nothing is committed in it yet, and the plan is `{plan.status.value}`"
    return None


def _results_in(paths: Sequence[str], plan: PlanNow) -> list[str]:
    """Return those of the files that git ignores that the plan was to make.

    They are seen from the workspace.
    """
    artifacts = [text for name in plan.artifacts for text in (name, f"{name.rstrip('/')}/**")]
    globs = _globs((*plan.touches, *artifacts))
    return [
        path for path in paths if not is_cache(path) and any(_names(glob, path) for glob in globs)
    ]


def _globs(patterns: Sequence[str]) -> list[Glob]:
    found = []
    for text in patterns:
        try:
            found.append(parse_glob(text))
        except GlobError:  # `verify` tells; it never was anybody's to change
            continue
    return found


def _names(glob: Glob, path: str) -> bool:
    if not glob.matches(path):
        return False
    names = path.split("/")
    deepest = next((place for place, name in enumerate(names) if name in _INSTALLED), None)
    # `**` matches in `.venv` too, but nobody who wrote it meant that.
    return deepest is None or glob.literal_prefix[: deepest + 1] == tuple(names[: deepest + 1])


def _only_here(commits: Sequence[str], targets: Sequence[str]) -> str:
    """Say that commits would be lost."""
    where = " nor in ".join(f"`{name}`" for name in dict.fromkeys(targets))
    elsewhere = f"neither in {where} nor on a remote" if where else "on no remote"
    are = "commit is" if len(commits) == 1 else "commits are"
    return f"{len(commits)} {are} {elsewhere}: {_listed([each[:_ID] for each in commits])}"


def _counted(names: Sequence[str], what: str) -> str:
    """Say how many files are something, and name the first ones."""
    are = "file is" if len(names) == 1 else "files are"
    return f"{len(names)} {are} {what}: {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def plan_lines(context: Context) -> dict[str, PlanLine]:
    """Return what file and journal say of each plan, by its name."""
    seen = overview(context.tree, context.reader, context.existing_journal)
    found: dict[str, PlanLine] = {}
    for line in seen.lines:  # active ones first
        found.setdefault(line.file.slug, line)
    return found


def _plan_now(line: PlanLine | None) -> PlanNow:
    if line is None:
        return PlanNow()
    if line.plan is None:
        return PlanNow(problem=line.problem or "it cannot be parsed")
    plan = line.plan
    declared = [plan.frontmatter.touches, *(step.touches or () for step in plan.steps)]
    return PlanNow(
        status=line.status or plan.status,
        is_archived=line.shelf is Shelf.ARCHIVE,
        touches=tuple(dict.fromkeys(item.value for items in declared for item in items)),
        artifacts=tuple(item.value for item in plan.frontmatter.expected_artifacts),
    )


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


class Examiner:
    """Looks whether worktrees can go."""

    def __init__(self, context: Context, *, current: str | None) -> None:
        """`current` is where whoever asks is; None: that does not matter."""
        self.repository: Repository = make_repository(context)
        self.files = WorktreeFiles(plans_root(context.root))
        self.rules = context.configuration.worktrees
        self.lines = plan_lines(context)
        self.inside = git_place(context).inside
        """The workspace as seen from a worktree's top."""
        self.machine = machine()
        self.current = current

    def plan_now(self, slug: str) -> PlanNow:
        """Return what is known of a plan by now."""
        return _plan_now(self.lines.get(slug))

    def examine(self, state: TeamState, registered: Sequence[Registered]) -> Removal:
        """Return how a worktree can go; raise with the reason where it stays.

        Whatever cannot be read is a reason to stay.
        """
        binding = state.binding
        if binding is None:
            raise Refused("it has no worktree")
        self._refuse_elsewhere(binding)
        listed = next((each for each in registered if each.path == binding.path), None)
        _refuse_needed(binding, listed, registered)
        tip = self.repository.tip(binding.branch)
        there = occupied(binding.path)
        if there is None:
            if tip is not None:
                self._refuse_loss(state, tip, registered, gone=True)
            return Removal(binding, tip, is_there=False, is_registered=listed is not None)
        if there != "a folder":  # what is behind a link may be anybody's
            raise Refused(f"there is {there} at `{binding.path}`")
        wrong = mismatch(binding, self.repository)
        if wrong is not None:
            raise Refused(wrong)
        if listed is None or listed.missing or listed.is_main or listed.branch != binding.branch:
            raise Refused(
                f"git does not list `{binding.path}` as the worktree of `{binding.branch}`"
            )
        if tip is None:
            raise Refused(f"its branch `{binding.branch}` leads to no commit")
        if self.current is not None and _is_in(self.current, binding.path):
            raise Refused("you are in it: go elsewhere first")
        self._refuse_loss(state, tip, registered)
        plan = self.plan_now(state.plan)
        needed = _still_needed(state, plan, tip)
        if needed is not None:
            raise Refused(needed)
        return self._emptied(binding, plan, tip)

    def _refuse_elsewhere(self, binding: Binding) -> None:
        if binding.machine not in {"", self.machine}:
            raise Refused(f"it is on `{binding.machine}`: prune it there")
        if not binding.is_whole:
            raise Refused(
                f"it was left half-made: `planbound spawn {shlex.quote(binding.plan)}`"
                " clears it and makes it anew"
            )

    def _refuse_loss(
        self,
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
        targets = self._targets(state, main, binding.branch)
        missing = self.repository.missing(tip, list(targets.values()), remotes=True)
        if not missing:
            return
        what = _only_here(missing, list(targets))
        if gone:
            again = f"`planbound spawn {shlex.quote(state.plan)}` brings it back"
            raise Refused(f"its folder is gone, and of its branch {what}; {again}")
        raise Refused(what)

    def _targets(self, state: TeamState, main: Registered, own: str) -> dict[str, str]:
        """Return where a plan's commits may be, each with the commit that it leads to."""
        repository = self.repository
        integrated = state.integrated
        names = [integrated.into if integrated is not None else None, self.rules.into, main.branch]
        found = {}
        for name in names:
            # In its own branch everything is: that says nothing.
            if name is not None and name != own and (commit := repository.tip(name)) is not None:
                found[name] = commit
        if main.branch is None and main.head is not None:
            found["HEAD"] = main.head
        return found

    def _emptied(self, binding: Binding, plan: PlanNow, tip: str) -> Removal:
        """Return how a worktree goes in which nothing is that its commits do not hold."""
        repository = self.repository
        found = repository.leftovers(binding.path, tip)
        if found.changed:
            raise Refused(_counted(found.changed, "not committed"))
        for name in repository.submodules(tip):
            if occupied(os.path.join(binding.path, name, ".git")):
                raise Refused(f"the submodule `{name}` is checked out in it")
        named = self.files.marker(binding.workspace)
        if named is not None and named != binding.plan:
            raise Refused(f"its marker names `{named}`")
        marker = os.path.normpath(os.path.join(self.inside, _MARKER))
        inside = {name: os.path.relpath(name, self.inside) for name in found.untracked}
        copies = [name for name in found.untracked if self._is_same(binding, inside[name])]
        strange = [name for name in found.untracked if name != marker and name not in set(copies)]
        if strange:
            raise Refused(_counted(strange, "untracked"))
        self._refuse_ignored(binding, plan, found)
        return Removal(
            binding,
            tip,
            is_there=True,
            is_registered=True,
            is_marked=marker in found.untracked,
            copies=tuple(inside[name] for name in copies),
        )

    def _refuse_ignored(self, binding: Binding, plan: PlanNow, found: Leftovers) -> None:
        """Raise where something that git ignores is more than a tool's leavings."""
        plain, edited = [], []
        for name in found.ignored:
            if name.endswith("/"):  # git lists files, but looks into no repository
                raise Refused(f"a repository of its own is in it, which git ignores: {name}")
            inside = os.path.relpath(name, self.inside)
            if _is_copied(binding, inside):
                same = self.files.is_same(inside, binding.workspace)
                if same is False or (same is None and inside in binding.copied):
                    edited.append(name)
            else:
                plain.append(inside)
        if edited:
            raise Refused(_counted(edited, "not what the main workspace has"))
        made = _results_in(plain, plan)
        if made:
            raise Refused(_counted(made, "ignored by git, and a result of the plan"))

    def _is_same(self, binding: Binding, inside: str) -> bool:
        return _is_copied(binding, inside) and bool(self.files.is_same(inside, binding.workspace))


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


def _is_copied(binding: Binding, inside: str) -> bool:
    return any(inside == each or inside.startswith(f"{each}/") for each in binding.copied)


# -- prune: removes worktrees whose work is all elsewhere, and says why the others stay ----------


_LEASE = 1800.0
"""Longer than any removal; who dies in it is known to be dead."""
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Removed(NamedTuple):
    """A worktree that is gone, or would be."""

    plan: str
    path: str
    branch: str | None
    """None: it was gone, or stays because it moved meanwhile."""
    tip: str | None


class NotPruned(NamedTuple):
    """A worktree that stays."""

    plan: str
    path: str
    reason: str


class Pruned(NamedTuple):
    """What became of each worktree that was looked at."""

    removed: tuple[Removed, ...] = ()
    kept: tuple[NotPruned, ...] = ()


def prune_worktrees(context: Context, names: Sequence[str], *, dry_run: bool) -> Pruned:
    """Take the worktrees of the named plans away, or of all: those that can go.

    A dry run only looks. Raise NothingToDo where there is none.
    """
    states = known_team(context.existing_journal())
    chosen = _chosen(context, states, names)
    pruner = _Pruner(context)
    with nullcontext() if dry_run else spawn_lock(context):
        # Once more: somebody may have pruned until now.
        states = known_team(context.existing_journal())
        found = [states[slug] for slug in chosen if slug in states]
        return pruner.prune(found, dry_run=dry_run)


def _chosen(context: Context, states: Mapping[str, TeamState], names: Sequence[str]) -> list[str]:
    bound = {slug: state.binding for slug, state in states.items() if state.binding is not None}
    if not names:
        here = [slug for slug, each in bound.items() if each.machine in {"", machine()}]
        if not here:
            raise NothingToDo("no plan has a worktree here")
        return sorted(here)
    chosen: dict[str, None] = {}
    for name in names:
        file = context.tree.find(name) if name not in bound else None
        slug = file.slug if file is not None else name
        if slug not in states and file is None:
            raise UsageError(
                f"no plan `{name}` is known here", hint="`planbound doctor` lists all worktrees"
            )
        if slug in bound:
            chosen[slug] = None
    if not chosen:
        raise NothingToDo(f"no worktree is recorded for {', '.join(f'`{name}`' for name in names)}")
    return list(chosen)


class _Pruner:
    """Takes worktrees away, while it holds the lock under which they come and go."""

    def __init__(self, context: Context) -> None:
        self.examiner = Examiner(context, current=os.path.realpath(context.current))
        self.repository = self.examiner.repository
        self.files = self.examiner.files
        self.recorder = context.recorder()
        self.leases = context.leases()

    def prune(self, states: Sequence[TeamState], *, dry_run: bool) -> Pruned:
        """Take away what can go; whatever goes wrong with one keeps that one, and nothing else."""
        removed: list[Removed] = []
        kept: list[NotPruned] = []
        for state in states:
            binding = state.binding
            if binding is None:
                continue
            try:
                removed.append(self._one(state, binding, dry_run=dry_run))
            except JournalProblem:
                raise  # what cannot be recorded is not done
            except PlanboundError as problem:
                kept.append(NotPruned(state.plan, binding.path, problem.message))
        return Pruned(tuple(removed), tuple(kept))

    def _one(self, state: TeamState, binding: Binding, *, dry_run: bool) -> Removed:
        self._refuse_held(binding)
        removal = self.examiner.examine(state, self.repository.registered())
        if dry_run:
            branch = binding.branch if removal.tip is not None else None
            return Removed(binding.plan, binding.path, branch, removal.tip)
        # The lease of the plan: nobody begins to work in what is being taken away.
        claim = my_claim(binding.plan, binding.workspace, touches=())
        with hold_lease(self.leases, claim, seconds=_LEASE):
            # Again, for somebody may have worked in it until now.
            removal = self.examiner.examine(state, self.repository.registered())
            return self._remove(removal)

    def _refuse_held(self, binding: Binding) -> None:
        for held in self.leases.held():
            where = held.claim.worktree
            is_there = where == binding.path or where.startswith(f"{binding.path}/")
            if not held.expired and (held.claim.plan == binding.plan or is_there):
                raise Refused(f"{held.claim.holder} works on `{held.claim.plan}` in it")

    def _remove(self, removal: Removal) -> Removed:
        """Take everything away, in an order in which it can be begun again at any point."""
        binding, tip = removal.binding, removal.tip
        with _unbroken():
            if removal.is_there:
                self._take_down(removal)
            elif removal.is_registered:
                self.repository.remove(binding.path)
        is_deleted = tip is not None and self.repository.move(
            binding.branch, None, tip, "planbound: pruned"
        )
        self.files.point(binding.plan, None)
        left = (f"the branch `{binding.branch}`, which moved meanwhile",)
        event = WorktreeRemoved(
            path=binding.path,
            reason="pruned",
            tip=tip,
            branch=binding.branch if is_deleted else None,
            survived=None if tip is None or is_deleted else left,
        )
        self.recorder.record(event, binding.plan)
        return Removed(binding.plan, binding.path, binding.branch if is_deleted else None, tip)

    def _take_down(self, removal: Removal) -> None:
        binding, files = removal.binding, self.files
        try:
            if removal.is_marked:
                files.unmark(binding.workspace, binding.plan)
            for name in removal.copies:
                files.discard(name, binding.workspace)
            self.repository.remove(binding.path)
        except PlanboundError:
            # Git refuses: somebody was quicker. It is their worktree again, as it was.
            if occupied(binding.path) is not None:
                if removal.is_marked:
                    files.mark(binding.workspace, binding.plan)
                for name in removal.copies:
                    if occupied(f"{binding.workspace}/{name}") is None:
                        files.copy(name, binding.workspace)
            raise


@contextmanager
def _unbroken() -> Iterator[None]:
    """Let signals wait that would leave a folder half-removed."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
