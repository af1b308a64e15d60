"""Where commands run, kept apart from everything else."""

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from planbound.cells.isolation import Isolation
from planbound.plan.model import Evidence, Stream

if TYPE_CHECKING:
    from planbound.cells.egress import Destination, Traffic

# -- what came of running a command, before anybody says what it means ---------------------------


class CommandEnding(enum.Enum):
    """How a command came to its end."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed out"
    EXHAUSTED = "exhausted"
    """Memory, processes or temporary space were used up."""
    NOT_STARTED = "not started"
    STOPPED = "stopped"
    """Whoever oversaw it said so."""


class Captured(Struct, frozen=True):
    """One stream of output: its ends, and what is known of the whole."""

    head: bytes = b""
    tail: bytes = b""
    """What follows the head; where `length` is more than both together, there is a gap."""
    length: int = 0
    sha256: str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    found: frozenset[bytes] = frozenset()
    """What was searched for in the whole, and is in it."""

    @property
    def dropped(self) -> int:
        """Return how many bytes between head and tail were not kept."""
        return self.length - len(self.head) - len(self.tail)

    def text(self) -> str:
        """Return what was kept, as text; a gap is said in a line of its own."""
        if not self.dropped:
            return (self.head + self.tail).decode("utf-8", "replace")
        # Half a line at the gap may be half a secret, which nobody would recognise.
        head = self.head[: self.head.rfind(b"\n") + 1].decode("utf-8", "replace")
        tail = self.tail[self.tail.find(b"\n") + 1 :].decode("utf-8", "replace")
        return f"{head}\n[... {self.dropped} bytes left out ...]\n{tail}"


class Outcome(NamedTuple):
    """What a cell saw of a command."""

    ending: CommandEnding
    exit_code: int | None = None
    signal: int | None = None
    duration: float = 0.0
    stdout: Captured = Captured()
    stderr: Captured = Captured()
    leftovers: int = 0
    """How many processes were still there when the command had ended."""
    written: tuple[str, ...] = ()
    """What the command wrote or removed in the tree, sorted; at most so many names."""
    written_count: int = 0
    trespassed: tuple[str, ...] = ()
    """What of the watched files was written or removed."""
    collected: Mapping[str, bytes] = {}
    """The content of the files that were asked for, where they were there."""
    reason: str = ""
    """Why it was not started or was stopped, or what it used up."""
    traffic: "tuple[Traffic, ...]" = ()
    """What it sent where, and what it was refused, where it had a proxy."""
    could_meet: bool = False
    """Whether it made calls by which commands of different cells can meet, at a lock or a watch of
    a file of the host, or nobody could see that it made none."""


# -- how far a command was kept apart, and how well a verdict is founded -------------------------


def evidence_reaches(evidence: Evidence, wanted: Evidence) -> bool:
    """Say whether a level of evidence is as much as is wanted."""
    return evidence.value >= wanted.value


# -- where commands run, kept apart from everything else -----------------------------------------


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


class Laid(Struct, frozen=True):
    """A file that is put over the tree before the command starts."""

    path: str
    """Seen from the workspace."""
    content: bytes
    mode: int = 0o644


class HostView(NamedTuple):
    """What a cell shows of the places where people and programs keep their own things."""

    home: str | None = None
    """The path at which a cell with mounts has its home; None: one that nobody has."""
    closed: tuple[str, ...] = ()
    """Folders that are empty, but for what is shown in them."""
    tools: tuple[str, ...] = ()
    """What can be read in them: toolchains. What is written to it is gone afterwards."""
    caches: tuple[str, ...] = ()
    """The same, and left out by a cell that could only show it read-only at its home."""
    shared: tuple[str, ...] = ()
    """What can be read and written as it is: the log-in of an agent."""
    sealed: tuple[str, ...] = ()
    """What cannot be seen, whatever is shown: the harness's own."""


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
    egress: "tuple[Destination, ...] | None" = None
    """All that it can connect to, by a proxy; None: see `network`, which is off otherwise."""
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
    """What can be read although it lies in a folder that a cell has of its own, or closes."""
    view: HostView = HostView()
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
    """Watches a command while it runs, and may end it: an agent, or a contract of a run.

    Called in the thread that runs the cell: nothing in it may take long.
    """

    def saw(self, stream: Stream, data: bytes) -> None:
        """Take output as it arrives, in pieces of any length."""

    def stop(self) -> str | None:
        """Return why the command has to end now; asked ten times a second and after output."""


class Cell(Protocol):
    """Runs commands at one level of isolation.

    `cells/choose.py` has the real ones, `planbound.testing.cell` one that runs nothing.
    """

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


class Stage(NamedTuple):
    """What takes its time now, for whoever waits for it: mostly a contract that is judged."""

    place: int
    total: int
    """How many there are; 0 where nobody knows."""
    command: str
    """The first line of the contract."""
    part: str = ""
    """What else is done for it, and what is known of that, as `canary red`."""
    doing: str = "judging"
