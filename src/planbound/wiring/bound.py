"""Finds the worktree that a plan is bound to: by what was recorded, never by a name."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator

from planbound.engine.manifest import CACHES, SUMMARISED
from planbound.engine.team.state import Binding
from planbound.errors import Refused
from planbound.ports.files import PlanFile
from planbound.ports.git import Repository
from planbound.ports.place import AnyPlace, Place
from planbound.shell.git.repository import GitRepository
from planbound.usecases.team.bindings import known_of, known_team, mismatch
from planbound.wiring.parts import Parts
from planbound.workspace.git_place import GitPlace, demand_git, find_git
from planbound.workspace.tree import HARNESS, plans_root

_CLOSED = frozenset(os.fsdecode(name) for name in (*CACHES, *SUMMARISED)) | {HARNESS}
_Seen = dict[str, tuple[int, int, int]]


def git_place(parts: Parts) -> GitPlace:
    """Return where the repository is; refuse where there is none."""
    return demand_git(plans_root(parts.root))


def make_repository(parts: Parts) -> GitRepository:
    """Return the repository, seen through a view of ours."""
    place = git_place(parts)
    return GitRepository(place.common, place.main, os.path.join(parts.state.folder, "git"))


def machine() -> str:
    """Return how this machine is called in bindings."""
    return os.uname().nodename


def binding_of(parts: Parts, slug: str) -> Binding | None:
    """Return the recorded worktree of a plan; None where it has none."""
    return known_of(parts.existing_journal(), slug).binding


def at_worktree(parts: Parts, file: PlanFile) -> Parts:
    """Return the parts for the worktree that a plan is bound to; these where it has none.

    Nothing is run or judged in another worktree than the plan's own.
    """
    place = find_git(parts.root)
    if place is None or not parts.holds(file.path):
        return parts
    here = os.path.realpath(parts.root)
    binding = binding_of(parts, file.slug)
    if binding is None:
        if place.is_linked:
            _refuse_foreign(parts, file.slug, here)
        return parts
    _refuse_elsewhere(binding)
    if place.is_linked and here != binding.workspace:
        raise Refused(
            f"workspace-mismatch: `{file.slug}` belongs to {binding.workspace}, and this is {here}",
            hint="go there, or to the main worktree",
        )
    _refuse_changed(parts, binding)
    if here == binding.workspace:
        return parts
    there = parts.at(binding.workspace)
    there.current = parts.current  # paths are shown as seen from where the person is
    return there


def make_place(parts: Parts, slug: str) -> Place:
    """Return the place that a plan is bound to, for a run that goes on in it."""
    place = find_git(parts.root)
    binding = binding_of(parts, slug) if place is not None else None
    if place is None or binding is None or binding.workspace != os.path.realpath(parts.root):
        return AnyPlace(is_linked=place is not None and place.is_linked)
    return BoundPlace(binding, make_repository(parts), place.inside)


class BoundPlace:
    """See `ports.place.Place`."""

    is_bound = True
    is_linked = True

    def __init__(self, binding: Binding, repository: Repository, inside: str) -> None:
        self._binding = binding
        self._repository = repository
        self._inside = inside

    def misplaced(self) -> str | None:
        """Return why the workspace is not the worktree that was recorded."""
        return mismatch(self._binding, self._repository)

    def watch(self, covers: Callable[[str], bool]) -> Callable[[], tuple[str, ...]]:
        """Begin to watch the other worktrees."""
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


def _refuse_foreign(parts: Parts, slug: str, here: str) -> None:
    """Refuse to run a plan without a worktree in that of another one."""
    for state in known_team(parts.existing_journal()).values():
        if state.binding is not None and state.binding.workspace == here:
            raise Refused(
                f"workspace-mismatch: this worktree belongs to `{state.plan}`, not to `{slug}`",
                hint=f"`planbound spawn {shlex.quote(slug)}` makes one for it",
            )


def _refuse_changed(parts: Parts, binding: Binding) -> None:
    if not os.path.lexists(binding.path):
        raise Refused(
            f"the worktree of `{binding.plan}` is gone: {binding.path}",
            hint=f"`planbound spawn {shlex.quote(binding.plan)}` makes it anew"
            f" on `{binding.branch}`",
        )
    wrong = mismatch(binding, make_repository(parts))
    if wrong is not None:
        raise Refused(
            f"workspace-mismatch: {wrong}",
            hint="put it back, or look at it with `planbound doctor`",
        )
