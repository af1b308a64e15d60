"""What a cell is told to do, and what it saw: two values, handed over as bytes.

Plain classes: `typing` and `enum` would take a third of the time that a cell needs to start.
"""

from __future__ import annotations

import marshal

ROOMS = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108 - the cell's own
"""The folders that a cell has anew: what the host has in them is not there."""


class _Value:
    """Fields by name; both ends are one interpreter, so the bytes need no care."""

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)

    def encode(self) -> bytes:
        """Return the value as bytes."""
        return marshal.dumps(self.__dict__)


class Order(_Value):
    """Everything that a cell's own process needs to know."""

    level: str
    """`I2`: make namespaces; `inner`: they are made already; `I1`, `I0`: none."""
    command: tuple[str, ...]
    environment: dict[str, str]
    workspace: str
    """Where the command sees the workspace, and starts."""
    source: str
    """Where the host has it: elsewhere, where it is shown at another path."""
    scratch: str
    timeout: float
    memory: int
    processes: int
    file_size: int
    temporary: int
    inodes: int
    network: bool
    doors: tuple[int, ...]
    """Ports of the loopback address behind which the harness connects to the host's."""
    stand_in: str | None
    """A copy of the workspace, where no overlay can be laid over it."""
    writable: bool
    """Whether the workspace itself is written to, as an agent does."""
    lay: tuple[tuple[str, bytes, int], ...]
    """Files put over the tree: path seen from the workspace, content, mode."""
    remove: tuple[str, ...]
    pinned: tuple[str, ...]
    """Folders above what is protected, from the top: they must not be moved away."""
    read_only: tuple[str, ...]
    absent: tuple[str, ...]
    untracked: tuple[str, bytes] | None
    """Git's file of what it does not look at, and what it says in the cell."""
    masked: tuple[str, ...]
    closed: tuple[str, ...]
    """Folders that are empty, but for what is put into them."""
    exposed: tuple[str, ...]
    """What is put into them, or into a room, read-only."""
    tools: tuple[str, ...]
    """The same; what is written to it stays in the cell, where an overlay can be laid over it."""
    caches: tuple[str, ...]
    """The same, and left out where there can be no overlay."""
    shared: tuple[str, ...]
    """What is put there as it is, to be written to."""
    home: str | None
    """Where the home is; None: `/tmp/home`, where the cell has a `/tmp` of its own."""
    kept_home: str | None
    """A folder that appears as the home."""
    watched: tuple[str, ...]
    collect: tuple[str, ...]
    stdin: int = -1
    """A descriptor of what the command reads; below 0: nothing. The process itself adds these."""
    egress: int = -1
    """A socket by which the harness is given the way out; below 0: there is none."""
    leash: int = -1
    """A pipe whose other end the harness alone holds: when that is closed, everything ends."""
    parent: int = 0
    """The number of the process that started it: the harness, or its launcher."""

    def shown(self, path: str) -> str:
        """Return where the command sees what the host has at a path."""
        if path == self.source or path.startswith(self.source.rstrip("/") + "/"):
            return self.workspace + path[len(self.source) :]
        return path

    def but(self, **fields: object) -> Order:
        """Return the order with other fields."""
        return Order(**{**self.__dict__, **fields})

    @classmethod
    def decode(cls, data: bytes) -> Order:
        """Return the order in the bytes."""
        return cls(**marshal.loads(data))  # noqa: S302 - from the harness, over a descriptor


class Report(_Value):
    """What a cell's own process saw."""

    made: bool = True
    """Whether there was a cell at all."""
    started: bool = True
    status: int | None = None
    """As `waitpid` gives it."""
    ended: str = "exited"
    """`exited`, `timed out` or `exhausted`."""
    reason: str = ""
    duration: float = 0.0
    leftovers: int = 0
    written: tuple[str, ...] = ()
    written_count: int = 0
    trespassed: tuple[str, ...] = ()
    collected: tuple[tuple[str, bytes], ...] = ()
    could_meet: bool = False
    """Whether the command made a call by which commands of different cells can meet."""
    refused: str = ""
    """Why nobody could hear of such calls; empty: one did, or nobody had to."""

    @classmethod
    def decode(cls, data: bytes) -> Report:
        """Return the report in the bytes; raise ValueError where it was cut off."""
        try:
            return cls(**marshal.loads(data))  # noqa: S302 - from the cell's own process
        except (EOFError, TypeError, ValueError) as error:
            raise ValueError("the cell's report is not whole") from error
