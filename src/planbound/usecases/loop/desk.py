"""Everything that plan tools need, put together once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from planbound.ports.files import Files, Folders, PlanFile, Workspace
from planbound.ports.journal import Journal
from planbound.ports.lease import Leases
from planbound.ports.surroundings import Surroundings
from planbound.ports.tree import Vault
from planbound.usecases.record import Recorder

if TYPE_CHECKING:  # they take their time to load, and hooks seldom judge
    from planbound.engine.configuration import Configuration
    from planbound.usecases.bench import Bench

Probe = Callable[..., str | None]
"""Looks at something itself: returns None where it is so, else what is found instead."""


class LoopDesk(NamedTuple):
    """The parts of a session."""

    session: str
    name: str | None
    """The plan that the session is bound to by name; None: see `binding`."""
    workspace: Workspace
    files: Files
    folders: Folders
    vault: Vault
    recorder: Recorder
    leases: Leases
    configuration: Configuration
    bench: Callable[[], Bench]
    """Makes what is needed for judging; not every call judges."""
    earlier: Callable[[str], Callable[[str, str], frozenset[str]]]
    holder: str
    process: str | None
    surroundings: Callable[[], Surroundings]
    """What the rules for plans ask about."""
    relative: Callable[[str], str]
    refuse_misplaced: Callable[[PlanFile], None]
    """Raises where the workspace is another worktree than the plan's own."""
    probes: Mapping[str, Probe]
    patience: float = 10.0
    """How many seconds a call waits for another agent's call on the same plan."""

    @property
    def journal(self) -> Journal:
        """Return the journal."""
        return self.recorder.journal
