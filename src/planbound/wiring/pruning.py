"""Puts together what taking worktrees away, and looking at them, needs."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from planbound.engine.team.pruning import Owner
from planbound.engine.team.slot import POINTER
from planbound.engine.team.state import TeamState
from planbound.errors import FileProblem, NothingToDo, UsageError
from planbound.ports.files import Shelf
from planbound.store.lock import this_process
from planbound.usecases.overview import PlanLine, overview
from planbound.usecases.team.bindings import known_team
from planbound.usecases.team.health import Finding, HealthDesk, worktree_health
from planbound.usecases.team.prune import Powers, Pruned, prune
from planbound.usecases.team.removable import PruneDesk
from planbound.wiring.bound import git_place, machine, make_repository
from planbound.wiring.parts import Parts
from planbound.wiring.team import spawn_lock, worktrees_root
from planbound.workspace.git_place import find_git
from planbound.workspace.slots import RealSlots
from planbound.workspace.tree import HARNESS, plans_root

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_MAX_POINTER = 16 * 1024


def prune_worktrees(parts: Parts, names: Sequence[str], *, dry_run: bool) -> Pruned:
    """Take the worktrees of the named plans away, or of all: those that can go.

    Raise NothingToDo where there is none.
    """
    states = known_team(parts.existing_journal())
    chosen = _chosen(parts, states, names)
    lines = _lines(parts)
    desk = _desk(parts, lines, current=os.path.realpath(parts.current))
    me = this_process()
    powers = Powers(parts.recorder(), parts.leases(), me.name, me.mark, _unbroken)
    with nullcontext() if dry_run else spawn_lock(parts):
        # Once more: somebody may have pruned until now.
        states = known_team(parts.existing_journal())
        found = [states[slug] for slug in chosen if slug in states]
        return prune(desk, powers, found, dry_run=dry_run)


def worktree_findings(parts: Parts) -> list[Finding]:
    """Return what there is to say about the worktrees; git is not asked where there are none."""
    place = find_git(plans_root(parts.root))
    if place is None:
        return []
    states = known_team(parts.existing_journal())
    pointers = _pointers(parts)
    root = worktrees_root(parts)
    has_binding = any(state.binding is not None for state in states.values())
    if not has_binding and not pointers and not os.path.isdir(root):
        return []
    lines = _lines(parts)
    return worktree_health(
        HealthDesk(
            prune=_desk(parts, lines, current=None),
            states=states,
            root=root,
            folders=_folders(root),
            pointers=pointers,
            plans=frozenset({*states, *lines}),
        )
    )


def _chosen(parts: Parts, states: Mapping[str, TeamState], names: Sequence[str]) -> list[str]:
    bound = {slug: state.binding for slug, state in states.items() if state.binding is not None}
    if not names:
        here = [slug for slug, each in bound.items() if each.machine in {"", machine()}]
        if not here:
            raise NothingToDo("no plan has a worktree here")
        return sorted(here)
    chosen: dict[str, None] = {}
    for name in names:
        file = parts.tree.find(name) if name not in bound else None
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


def _desk(parts: Parts, lines: Mapping[str, PlanLine], *, current: str | None) -> PruneDesk:
    return PruneDesk(
        repository=make_repository(parts),
        slots=RealSlots(plans_root(parts.root)),
        rules=parts.configuration.worktrees,
        owner=lambda slug: _owner(lines.get(slug)),
        occupied=_occupied,
        inside=git_place(parts).inside,
        machine=machine(),
        current=current,
    )


def _lines(parts: Parts) -> dict[str, PlanLine]:
    seen = overview(parts.tree, parts.reader, parts.existing_journal)
    found: dict[str, PlanLine] = {}
    for line in seen.lines:  # active ones first
        found.setdefault(line.file.slug, line)
    return found


def _owner(line: PlanLine | None) -> Owner:
    if line is None:
        return Owner()
    if line.plan is None:
        return Owner(problem=line.problem or "it cannot be parsed")
    plan = line.plan
    declared = [plan.frontmatter.touches, *(step.touches or () for step in plan.steps)]
    return Owner(
        status=(line.status or plan.status).value,
        is_archived=line.shelf is Shelf.ARCHIVE,
        touches=tuple(dict.fromkeys(item.value for items in declared for item in items)),
        artifacts=tuple(item.value for item in plan.frontmatter.expected_artifacts),
    )


def _occupied(path: str) -> str | None:
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # nobody can tell: that is not "nothing"
        raise FileProblem(f"cannot look at `{path}`: {error.strerror}") from error
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "a file"


def _folders(root: str) -> list[str]:
    try:
        with os.scandir(root) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FileProblem(f"cannot list `{root}`: {error.strerror}") from error


def _pointers(parts: Parts) -> dict[str, str]:
    folder = os.path.join(plans_root(parts.root), HARNESS)
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


@contextmanager
def _unbroken() -> Iterator[None]:
    """Let signals wait that would leave a folder half-removed."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
