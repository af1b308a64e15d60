"""Everything that judging needs, put together once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from planbound.engine.configuration import Configuration
from planbound.engine.manifest import ScanRules
from planbound.plan.command import Script
from planbound.ports.cell import Cell, Laid
from planbound.ports.surroundings import ShellSyntax
from planbound.ports.tree import Tree, Vault


class Stage(NamedTuple):
    """What is being judged now, for whoever waits for it."""

    place: int
    total: int
    """How many there are; 0 where nobody knows."""
    command: str
    """The first line of the contract."""
    part: str = ""
    """What else is done for it, as `canary`."""


class Bench(NamedTuple):
    """Everything that judging needs, put together once."""

    cell: Cell
    tree: Tree
    vault: Vault
    syntax: ShellSyntax
    rules: ScanRules
    configuration: Configuration
    environment: Mapping[str, str]
    """What a contract finds in its environment, apart from where it is."""
    masked: tuple[str, ...]
    exposed: tuple[str, ...]
    held_out: Callable[[Script], tuple[Laid, ...]]
    """The judges that are laid into the contract's cell only."""
    told: Callable[[Stage | None], None] = lambda _stage: None
    """Is told what is judged now; None: nothing any more."""
    ignored: Callable[[], tuple[bytes, ...]] = tuple
    """Returns the folders that git ignores; asked only where it matters."""
    bare: bool = False
    """Whether there is no cell: the tree is not looked at, and nothing is protected."""
    fault: tuple[str, str] | None = None
    """Why the project's own programs cannot be used, and what to do about it."""
    cure: str = "name its folder in `[contracts] path`"
    """What to do about a program or module that contracts do not find."""
