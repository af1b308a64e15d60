"""The worktree in which merges are judged: nobody works in it, and it goes when it is done with."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial

from planbound.errors import AlreadyExists, FileProblem, GitProblem, Refused
from planbound.ports.git import Repository
from planbound.store.lock import is_gone, this_process
from planbound.usecases.bench import Bench
from planbound.usecases.run.control import Control, ControlledCell
from planbound.wiring.judging import make_bench
from planbound.wiring.parts import Parts
from planbound.wiring.team import git_place, make_repository, run_setup
from planbound.workspace.slots import RealSlots
from planbound.workspace.tree import plans_root

_NAME, _OWNER = "integrate-", ".owner"
_LONGEST_MARK = 4096


class MergeScratch:
    """Made when it is first asked for, and only ever one for a process."""

    def __init__(self, parts: Parts, repository: Repository, control: Control) -> None:
        self._parts = parts
        self._repository = repository
        self._control = control
        self._folder = os.path.join(os.path.realpath(parts.state.folder), "scratch")
        self.path = os.path.join(self._folder, f"{_NAME}{os.getpid()}")
        self._shown: str | None = None

    def show(self, commit: str) -> str:
        """Check a commit out; return where."""
        if self._shown is not None and self._shown != commit:
            # What a contract or a setup left there may be in the way of the next one.
            if self._repository.check_out(self.path, self._shown, commit) is None:
                self._repository.detach(self.path, self._shown, commit)
                self._shown = commit
            else:
                self.close()
        if self._shown is None:
            self._make(commit)
        return self.path

    def bench(self) -> Bench:
        """Return what judges the files that it shows."""
        bench = make_bench(self._parts.at(self._workspace()))
        return bench._replace(cell=ControlledCell(bench.cell, self._control))

    def close(self) -> None:
        """Remove it, if it was made."""
        if os.path.lexists(f"{self.path}{_OWNER}"):
            self.remove(self.path)
        self._shown = None

    def sweep(self) -> None:
        """Remove what processes left that are dead by now."""
        for path in self.abandoned():
            # One that cannot be removed is in nobody's way.
            with contextlib.suppress(OSError, GitProblem):
                self.remove(path)

    def abandoned(self) -> list[str]:
        """Return the worktrees of processes that are dead by now."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []
        owners = [
            os.path.join(self._folder, name)
            for name in names
            if name.startswith(_NAME) and name.endswith(_OWNER)
        ]
        return [owner.removesuffix(_OWNER) for owner in owners if _is_gone(owner)]

    def _make(self, commit: str) -> None:
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            # Before it is there: whoever is cut off leaves a trace of whose it is.
            with open(f"{self.path}{_OWNER}", "w", encoding="utf-8") as file:
                file.write(this_process().mark)
        except OSError as error:
            raise FileProblem(f"cannot write into `{self._folder}`: {error.strerror}") from error
        self._repository.add(self.path, None, commit)
        self._shown = commit
        self._furnish()

    def _workspace(self) -> str:
        path = os.path.normpath(os.path.join(self.path, git_place(self._parts).inside))
        os.makedirs(path, exist_ok=True)
        return path

    def _furnish(self) -> None:
        """Bring in what a checkout does not, and contracts may need."""
        workspace = self._workspace()
        setup = self._parts.configuration.worktrees.setup
        slots = RealSlots(plans_root(self._parts.root))
        for item in setup:
            if item.copy is not None:
                with contextlib.suppress(AlreadyExists):  # this commit brings it itself
                    slots.copy(item.copy, workspace)
        for item in setup:
            if item.run is not None and (failed := run_setup(self._parts, item.run, workspace)):
                raise Refused(
                    f"`{item.run}` failed in the scratch worktree: {failed}",
                    hint="mend `[worktrees] setup`",
                )

    def remove(self, path: str) -> None:
        """Remove a worktree and the trace of whose it is."""
        registered = {each.path for each in self._repository.registered()}
        if path in registered:
            self._repository.remove(path, force=True)
        with contextlib.suppress(OSError):
            os.rmdir(path)  # git was cut off before it knew it
        if not os.path.lexists(path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{path}{_OWNER}")


def _is_gone(owner: str) -> bool:
    try:
        with open(owner, encoding="utf-8", errors="replace") as file:
            return is_gone(file.read(_LONGEST_MARK))
    except OSError:
        return False


def abandoned_merges(parts: Parts) -> list[tuple[str, Callable[[], None]]]:
    """Return the scratch worktrees that nobody needs any more, each with what removes it."""
    scratch = MergeScratch(parts, make_repository(parts), Control())
    return [(path, partial(scratch.remove, path)) for path in scratch.abandoned()]


def quietly_close(scratch: MergeScratch) -> str | None:
    """Remove a scratch worktree at the end; return why it stays."""
    try:
        scratch.close()
    except GitProblem as problem:
        return f"{problem.message}; the next `planbound integrate` removes it"
    return None
