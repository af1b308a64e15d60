"""Everything that a run needs, put together once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from planbound.engine.configuration import Configuration
from planbound.engine.judging.case import Case
from planbound.engine.manifest import Manifest
from planbound.engine.readiness import PlanInfo
from planbound.ports.agent import Agent
from planbound.ports.copies import Copies
from planbound.ports.files import Files, PlanFile
from planbound.ports.git import Guard, NoGuard
from planbound.ports.homes import Homes
from planbound.ports.journal import Journal
from planbound.ports.lease import Leases
from planbound.ports.place import AnyPlace, Place
from planbound.ports.tree import Tree
from planbound.ports.worktree import OwnWorktree, Worktree
from planbound.usecases.bench import Bench
from planbound.usecases.record import Recorder


class Desk(NamedTuple):
    """The parts of a run."""

    bench: Bench
    recorder: Recorder
    leases: Leases
    files: Files
    file: PlanFile
    configuration: Configuration
    agents: Mapping[str, Agent]
    copies: Copies
    tree_at: Callable[[str], Tree]
    """Makes a tree of a folder: a copy of the workspace."""
    stamp: Callable[[str], str]
    """What a tree looks like from outside, where nothing is frozen."""
    agent_masked: tuple[str, ...]
    """What no agent can see."""
    project: str
    version: str
    holder: str
    process: str | None
    settle: Callable[[], None]
    """Writes what was put off because it is not the truth, only follows it."""
    jitter: Callable[[], float]
    """Returns a number between 0 and 1."""
    nonce: Callable[[], str]
    """Returns something that was never there before."""
    homes: Homes
    tools: Callable[[Sequence[Case], Manifest], Mapping[str, str]] = lambda _cases, _manifest: {}
    """Returns the programs that contracts call, with version and place."""
    plans: Callable[[], Sequence[PlanInfo]] = tuple
    """Returns what all plans are to each other."""
    worktree: Worktree = OwnWorktree()
    place: Place = AnyPlace()
    guard: Guard = NoGuard()

    @property
    def journal(self) -> Journal:
        """Return the journal."""
        return self.recorder.journal

    @property
    def slug(self) -> str:
        """Return the plan's name."""
        return self.file.slug
