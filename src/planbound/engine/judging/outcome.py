"""What came of running a command, before anybody says what it means."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple


class Ending(enum.Enum):
    """How a command came to its end."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed out"
    EXHAUSTED = "exhausted"
    """Memory, processes or temporary space were used up."""
    NOT_STARTED = "not started"
    STOPPED = "stopped"
    """Whoever oversaw it said so."""


class Captured(NamedTuple):
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

    ending: Ending
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
