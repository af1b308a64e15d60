"""Whether work is where it belongs: in the plan's own worktree, and in no other one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator

from planbound.disk.files import PlanFile
from planbound.errors import GitProblem, Refused
from planbound.git.repository import Repository
from planbound.state.place import Binding, misplaced
from planbound.state.plan import known_of, known_team
from planbound.workspace.context import Context
from planbound.workspace.manifest import CACHES, SUMMARISED
from planbound.workspace.root import HARNESS, GitPlace, demand_git, find_git, plans_root

# -- the recorded bindings: which plan has which worktree ----------------------------------------


def mismatch(binding: Binding, repository: Repository) -> str | None:
    """Return why the folder of a binding is not the worktree that was recorded."""
    try:
        branch = repository.branch(binding.path)
    except GitProblem as problem:
        return problem.message
    return misplaced(binding, pointed=binding.path, branch=branch)


# -- finds the worktree that a plan is bound to: by what was recorded, never by a name -----------


_CLOSED = frozenset(os.fsdecode(name) for name in (*CACHES, *SUMMARISED)) | {HARNESS}
_Seen = dict[str, tuple[int, int, int]]


def git_place(context: Context) -> GitPlace:
    """Return where the repository is; refuse where there is none."""
    return demand_git(plans_root(context.root))


def make_repository(context: Context) -> Repository:
    """Return the repository, seen through a view of ours."""
    place = git_place(context)
    return Repository(place.common, place.main, os.path.join(context.state.folder, "git"))


def machine() -> str:
    """Return how this machine is called in bindings."""
    return os.uname().nodename


def binding_of(context: Context, slug: str) -> Binding | None:
    """Return the recorded worktree of a plan; None where it has none."""
    return known_of(context.existing_journal(), slug).binding


def at_worktree(context: Context, file: PlanFile) -> Context:
    """Return the context for the worktree that a plan is bound to; these where it has none.

    Nothing is run or judged in another worktree than the plan's own.
    """
    place = find_git(context.root)
    if place is None or not context.holds(file.path):
        return context
    here = os.path.realpath(context.root)
    binding = binding_of(context, file.slug)
    if binding is None:
        if place.is_linked:
            _refuse_foreign(context, file.slug, here)
        return context
    _refuse_elsewhere(binding)
    if place.is_linked and here != binding.workspace:
        raise Refused(
            f"workspace-mismatch: `{file.slug}` belongs to {binding.workspace}, and this is {here}",
            hint="go there, or to the main worktree",
        )
    _refuse_changed(context, binding)
    if here == binding.workspace:
        return context
    there = context.at(binding.workspace)
    there.current = context.current  # paths are shown as seen from where the person is
    return there


def make_place(context: Context, slug: str) -> PlanPlace:
    """Return the place that a plan is bound to, for a run that goes on in it."""
    place = find_git(context.root)
    binding = binding_of(context, slug) if place is not None else None
    if place is None or binding is None or binding.workspace != os.path.realpath(context.root):
        return AnyPlace(is_linked=place is not None and place.is_linked)
    return BoundPlace(binding, make_repository(context), place.inside)


class AnyPlace:
    """A workspace that nothing is recorded about: it is where it is, and watches no others."""

    is_bound = False

    def __init__(self, *, is_linked: bool = False) -> None:
        self.is_linked = is_linked

    def misplaced(self) -> str | None:
        """Return that it is where it belongs."""
        return None

    def watch(self, covers: Callable[[str], bool]) -> Callable[[], tuple[str, ...]]:  # noqa: ARG002 - there are no others
        return tuple


class BoundPlace:
    """The worktree that a plan is bound to."""

    is_bound = True
    is_linked = True
    """Whether it is another worktree than the main one, where plans may be approved."""

    def __init__(self, binding: Binding, repository: Repository, inside: str) -> None:
        self._binding = binding
        self._repository = repository
        self._inside = inside

    def misplaced(self) -> str | None:
        """Return why the workspace is not the worktree that was recorded; None where it is."""
        return mismatch(self._binding, self._repository)

    def watch(self, covers: Callable[[str], bool]) -> Callable[[], tuple[str, ...]]:
        """Begin to watch the other worktrees; what is returned says what changed in them.

        `covers` says which files, seen from a workspace, are meant.
        """
        others = [
            os.path.normpath(os.path.join(each.path, self._inside))
            for each in self._repository.registered()
            if each.path != self._binding.path and not each.missing
        ]
        before = {root: _seen(root, covers) for root in others}

        def strayed() -> tuple[str, ...]:
            found = []
            for root, old in before.items():
                new = _seen(root, covers)
                names = {name for name in {*old, *new} if old.get(name) != new.get(name)}
                found += [os.path.join(root, name) for name in sorted(names)]
            return tuple(found)

        return strayed


PlanPlace = AnyPlace | BoundPlace
"""Where a run goes on."""


def _seen(root: str, covers: Callable[[str], bool]) -> _Seen:
    return {name: stamp for name, stamp in _files(root) if covers(name)}


def _files(root: str) -> Iterator[tuple[str, tuple[int, int, int]]]:
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in _CLOSED]
        for name in names:
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue  # gone meanwhile
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            yield os.path.relpath(path, root), stamp


def _refuse_elsewhere(binding: Binding) -> None:
    if not binding.is_whole:
        raise Refused(
            f"the worktree of `{binding.plan}` was left half-made",
            hint=f"`planbound spawn {shlex.quote(binding.plan)}` makes it anew",
        )
    if binding.machine not in {"", machine()}:
        raise Refused(
            f"workspace-mismatch: `{binding.plan}` has its worktree on `{binding.machine}`,"
            f" at {binding.path}",
            hint="run it there",
        )


def _refuse_foreign(context: Context, slug: str, here: str) -> None:
    """Refuse to run a plan without a worktree in that of another one."""
    for state in known_team(context.existing_journal()).values():
        if state.binding is not None and state.binding.workspace == here:
            raise Refused(
                f"workspace-mismatch: this worktree belongs to `{state.plan}`, not to `{slug}`",
                hint=f"`planbound spawn {shlex.quote(slug)}` makes one for it",
            )


def _refuse_changed(context: Context, binding: Binding) -> None:
    if not os.path.lexists(binding.path):
        raise Refused(
            f"the worktree of `{binding.plan}` is gone: {binding.path}",
            hint=f"`planbound spawn {shlex.quote(binding.plan)}` makes it anew"
            f" on `{binding.branch}`",
        )
    wrong = mismatch(binding, make_repository(context))
    if wrong is not None:
        raise Refused(
            f"workspace-mismatch: {wrong}",
            hint="put it back, or look at it with `planbound doctor`",
        )
