"""Puts together what several workers on one repository need."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from planbound.engine.judging.case import plan_scope
from planbound.engine.judging.outcome import Ending
from planbound.engine.judging.scope import Scope
from planbound.engine.team.rules import DEFAULT_ROOT
from planbound.errors import CellProblem, FileProblem, Refused
from planbound.plan.parse import parse
from planbound.ports.cell import Limits, Request
from planbound.ports.files import PlanFile
from planbound.store.lock import kernel_lock
from planbound.usecases.run.screen import ScreenedTree
from planbound.usecases.team.bindings import known_of
from planbound.usecases.team.commit import CommitDesk, commit_proved
from planbound.usecases.team.spawn import SpawnDesk, Spawned, spawn
from planbound.wiring.bound import at_worktree, binding_of, git_place, machine, make_repository
from planbound.wiring.judging import make_bench
from planbound.wiring.parts import Parts
from planbound.workspace.git_place import refuse_lost
from planbound.workspace.project_environment import without_ours
from planbound.workspace.slots import RealSlots
from planbound.workspace.stamp import stamp_of
from planbound.workspace.tree import plans_root

__all__ = ["at_worktree", "binding_of", "git_place", "machine", "make_repository"]
_SETUP_SECONDS = 1800.0
_PATIENCE = 600.0
_SHOWN = 400


def worktrees_root(parts: Parts) -> str:
    """Return the folder of the worktrees."""
    main = git_place(parts).main
    root = parts.configuration.worktrees.root
    # By the exact words: a folder's name may hold braces.
    root = root.replace("{repository}", os.path.basename(main)) if root == DEFAULT_ROOT else root
    return os.path.realpath(os.path.join(main, os.path.expanduser(root)))


@contextmanager
def team_lock(parts: Parts, name: str, *, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold a lock of this repository, between the processes of this machine."""

    def busy() -> Refused:
        return Refused(f"another `planbound {name}` is at work in this repository")

    os.makedirs(parts.state.locks, mode=0o700, exist_ok=True)
    path = os.path.join(parts.state.locks, f"{name}.lock")
    with kernel_lock(path, mode=0o600, seconds=patience, busy=busy):
        yield


def spawn_lock(parts: Parts) -> AbstractContextManager[None]:
    """Hold the lock under which worktrees come and go."""
    return team_lock(parts, "spawn")


def spawn_plan(
    parts: Parts,
    file: PlanFile,
    base: str | None,
    *,
    merges: tuple[str, str] | None = None,
    builds_on: Sequence[str] = (),
) -> Spawned:
    """Make the worktree of a plan."""
    desk = make_spawn_desk(parts)
    with spawn_lock(parts):
        return spawn(desk, file.slug, base, merges=merges, builds_on=builds_on)


def make_spawn_desk(parts: Parts) -> SpawnDesk:
    """Return what spawning needs."""
    place = git_place(parts)
    refuse_lost(place)
    return SpawnDesk(
        repository=make_repository(parts),
        recorder=parts.recorder(),
        slots=RealSlots(plans_root(parts.root)),
        rules=parts.configuration.worktrees,
        root=worktrees_root(parts),
        inside=place.inside,
        machine=machine(),
        run_setup=lambda command, workspace: run_setup(parts, command, workspace),
        occupied=_occupied,
    )


def make_commit_desk(parts: Parts) -> CommitDesk:
    """Return what committing proved work needs."""
    return CommitDesk(
        repository=make_repository(parts),
        recorder=parts.recorder(),
        rules=parts.configuration.worktrees,
        tree_of=lambda workspace: _tree_of(parts, workspace),
        inside=git_place(parts).inside,
        scope=lambda slug: _scope_of(parts, slug),
    )


def _scope_of(parts: Parts, slug: str) -> Scope:
    """Return what a plan may change; everything, where its file is not there any more."""
    file = parts.tree.planned_path(slug)
    try:
        return plan_scope(parse(parts.reader.read(file.path), path=file.shown))
    except FileProblem:
        return Scope(None)


def commit_done(parts: Parts, file: PlanFile, objective: str) -> str | None:
    """Commit the work of a plan that has just been proved in its own worktree."""
    state = known_of(parts.existing_journal(), file.slug)
    if state.binding is None or state.proof is None:
        return None
    return commit_proved(make_commit_desk(parts), state, objective)


def _tree_of(parts: Parts, workspace: str) -> str:
    bench = make_bench(parts.at(workspace))
    if bench.bare:
        return stamp_of(workspace)
    return ScreenedTree(bench.tree).manifest(bench.rules).digest


def _occupied(path: str) -> str | None:
    if os.path.islink(path):
        return "a symbolic link"
    if os.path.isdir(path):
        return "a folder"
    return "a file" if os.path.lexists(path) else None


def run_setup(parts: Parts, command: str, workspace: str) -> str | None:
    """Run a command of the configuration in a new worktree, kept apart from everything else."""
    there = parts.at(workspace)
    bench = make_bench(there)
    environment = dict(bench.environment)
    given = without_ours(os.environ, workspace).get("PATH", "")
    environment["PATH"] = os.pathsep.join((given, environment["PATH"]))
    # What makes an environment must not take another one for it.
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        environment.pop(name, None)
    request = Request(
        command=("/bin/bash", "-c", command),
        workspace=workspace,
        environment=environment,
        limits=Limits(seconds=_SETUP_SECONDS, file_size=20 << 30, temporary=20 << 30),
        network=True,
        writable=True,
        masked=bench.masked,
        exposed=(*bench.exposed, plans_root(parts.root)),
    )
    try:
        outcome = bench.cell.run(request)
    except CellProblem as problem:
        return problem.message
    if outcome.ending is Ending.EXITED and outcome.exit_code == 0:
        return None
    tail = (outcome.stderr.text() or outcome.stdout.text()).strip()[-_SHOWN:]
    return tail or outcome.reason or f"exit code {outcome.exit_code}"
