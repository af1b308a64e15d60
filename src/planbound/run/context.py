"""What a run has of its workspace: made of the context once, and kept for the whole run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from planbound import __version__
from planbound.agents.agent import Agent
from planbound.agents.kind import make_agents
from planbound.cells.copies import WorkspaceCopies
from planbound.cells.isolation import Isolation
from planbound.disk.files import Files, PlanFile
from planbound.disk.lock import WorktreeLock, this_process
from planbound.errors import PlanboundError
from planbound.git.backup import Level
from planbound.git.guard import GitGuard, Guard, NoGuard, git_guard
from planbound.git.place import AnyPlace, PlanPlace, make_place
from planbound.journal.anchored import AnchoredJournal
from planbound.journal.leases import Leases
from planbound.journal.record import Journal, Record
from planbound.judging.case import Case
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.tools import contract_tools, said_tools
from planbound.run.snapshot import Snapshots
from planbound.state.append import Recorder
from planbound.workspace.configuration import Configuration
from planbound.workspace.contents import RealTree, Tree
from planbound.workspace.context import Context
from planbound.workspace.manifest import Manifest
from planbound.workspace.readiness import PlanInfo
from planbound.workspace.state_home import AgentHomes


class RunContext:
    """The context of one run of one plan; a test that has no workspace overrides what it fakes."""

    judging: JudgingContext
    recorder: Recorder
    leases: Leases
    files: Files
    file: PlanFile
    configuration: Configuration
    agents: Mapping[str, Agent]
    copies: WorkspaceCopies
    homes: AgentHomes
    snapshots: Snapshots
    agent_masked: tuple[str, ...]
    """What no agent can see."""
    project: str
    version: str = __version__
    holder: str
    """Who runs it, for people."""
    process: str | None
    worktree: WorktreeLock
    place: PlanPlace = AnyPlace()
    guard: Guard = NoGuard()

    def __init__(self, context: Context, file: PlanFile) -> None:
        me, folder = this_process(), context.state.folder
        self._context = context
        journal = context.journal(anchor_every=_ANCHOR_EVERY)
        self._deferred = Deferred(journal, context.show_progress)
        journal.added = self._deferred.saw
        self.judging = judging_context(context)
        self.recorder = context.recorder(journal)
        self.leases = context.leases()
        self.files, self.file = context.files, file
        self.configuration = context.configuration
        self.agents = make_agents(context.configuration, context.root)
        self.copies = WorkspaceCopies(os.path.join(folder, "copies"))
        self.homes = AgentHomes(os.path.join(folder, "homes"))
        self.snapshots = Snapshots(os.path.join(folder, "snapshots"), file.slug)
        self.agent_masked = self.judging.hidden_from_agents
        self.project = context.state.project
        self.holder, self.process = me.name, me.mark
        lock = os.path.join(context.state.locks, _worktree_name(context.root))
        self.worktree = WorktreeLock(lock)
        self.place = make_place(context, file.slug)
        self.guard = make_guard(context, self.judging.cell.isolation)

    @property
    def journal(self) -> Journal:
        """The journal that the run appends to."""
        return self.recorder.journal

    @property
    def slug(self) -> str:
        return self.file.slug

    def tree_at(self, path: str) -> Tree:
        """Return the tree of a copy of the workspace."""
        return RealTree(path)

    def settle(self) -> None:
        """Write what was put off because it is not the truth, only follows it."""
        self._deferred.settle()

    def jitter(self) -> float:
        """Return a number between 0 and 1; `random` takes its time to load."""
        return int.from_bytes(os.urandom(4), "big") / (1 << 32)

    def nonce(self) -> str:
        """Return something that was never there before."""
        return os.urandom(4).hex()

    def tools(self, cases: Sequence[Case], manifest: Manifest) -> Mapping[str, str]:
        """Return the programs that contracts call, with version and place."""
        return said_tools(contract_tools(self._context, self.judging, cases, manifest))

    def plans(self) -> Sequence[PlanInfo]:
        """Return what all plans are to each other, for a plan that depends on some."""
        from planbound.workspace.overview import overview, plan_infos  # noqa: PLC0415 - seldom

        seen = overview(self._context.tree, self.files, lambda: self.journal)
        return plan_infos(seen, [], self.configuration.gate.require)


def make_guard(context: Context, isolation: Isolation) -> GitGuard:
    """Return what keeps the repository from being lost to agents in such a cell."""
    level = Level(mounts=isolation.reaches(Isolation.I2), walls=isolation.reaches(Isolation.I1))
    return git_guard(context, level)


def _worktree_name(root: str) -> str:
    digest = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()
    return f"worktree-{digest[:12]}.lock"


# -- what follows the journal and need not be written at once: progress lines, the anchor --------


_ANCHOR_EVERY = 0.1
_PROGRESS_EVERY = 1.0


class Deferred:
    """Writes now and then, and all of it when it is told to."""

    def __init__(self, journal: AnchoredJournal, show: Callable[[Sequence[Record]], None]) -> None:
        self._journal = journal
        self._show = show
        self._records: list[Record] = []
        self._written = 0.0
        self._turn = threading.Lock()

    def saw(self, records: Sequence[Record]) -> None:
        """Let what people read follow, soon."""
        with self._turn:
            self._records += records
            if time.monotonic() - self._written >= _PROGRESS_EVERY:
                self._write()

    def settle(self) -> None:
        """Write everything that was put off."""
        with self._turn:
            self._write()
        with contextlib.suppress(PlanboundError):
            self._journal.settle()

    def _write(self) -> None:
        if self._records:
            self._show(self._records)
            self._records = []
        self._written = time.monotonic()
