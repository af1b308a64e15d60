"""Where commands run, kept apart from everything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Outcome
from planbound.plan.model import Stream


class Limits(NamedTuple):
    """How much a command may use."""

    seconds: float = 300.0
    memory: int = 4 << 30
    """Bytes, of all its processes together."""
    processes: int = 1024
    """At once, their threads counted too."""
    file_size: int = 2 << 30
    temporary: int = 2 << 30
    """Bytes of files that it may write, all together."""
    inodes: int = 500_000


class Laid(NamedTuple):
    """A file that is put over the tree before the command starts."""

    path: str
    """Seen from the workspace."""
    content: bytes
    mode: int = 0o644


class Request(NamedTuple):
    """A command and what it may see and do."""

    command: tuple[str, ...]
    """The program by its absolute path, and its arguments."""
    workspace: str
    """A folder; also where the command starts, unless it is shown at another path."""
    environment: Mapping[str, str]
    """All of it: nothing else is passed. `{workspace}` and `{home}` in a value are filled in."""
    limits: Limits = Limits()
    network: bool = False
    writable: bool = False
    """Whether the workspace itself may be changed: an agent's cell. Else a contract's."""
    lay: tuple[Laid, ...] = ()
    remove: tuple[str, ...] = ()
    """What is taken out of the tree that the command sees."""
    read_only: tuple[str, ...] = ()
    """Parts of a writable workspace that are not."""
    absent: tuple[str, ...] = ()
    """Files of a writable workspace that are not there, and must not come to be."""
    masked: tuple[str, ...] = ()
    """What cannot be seen, by absolute path."""
    exposed: tuple[str, ...] = ()
    """What can be read although it lies in a folder that a cell has of its own, such as /tmp."""
    home: str | None = None
    """A home that is passed, to be written to; None: an empty one that is gone afterwards."""
    kept_home: str | None = None
    """A folder that is the home instead of an empty one, and stays; it appears where that would."""
    watched: tuple[str, ...] = ()
    """Files of the tree that the command has no business to write."""
    collect: tuple[str, ...] = ()
    """Files of the tree whose content is returned."""
    needles: tuple[bytes, ...] = ()
    """What is searched for in the whole of the output, also in what is not kept."""
    stdin: bytes = b""
    """What the command reads from its standard input."""
    shown_at: str | None = None
    """The path of a folder at which the workspace appears, where the cell has mounts of its own.

    So a copy of a workspace is seen at the original's path, and the original is not. Without
    mounts the command runs at the real path.
    """


class Overseer(Protocol):
    """Watches a command while it runs, and may end it.

    Called in the thread that runs the cell: nothing in it may take long.
    """

    def saw(self, stream: Stream, data: bytes) -> None:
        """Take output as it arrives, in pieces of any length."""

    def stop(self) -> str | None:
        """Return why the command has to end now; asked ten times a second and after output."""


class Cell(Protocol):
    """Runs commands at one level of isolation."""

    @property
    def name(self) -> str:
        """Return what it is made of, in a few words."""

    @property
    def isolation(self) -> Isolation:
        """Return the level that it reaches."""

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Run a command; everything that it started is dead when this returns.

        Raise `CellProblem` where no cell could be made: then nothing was run.
        """
