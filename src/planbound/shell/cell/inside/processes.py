"""The processes of a cell: counted, measured, ended."""

from __future__ import annotations

import _signal as signal
import os
import time

_PATIENCE = 10.0


class Family:
    """Everything that was started below this process."""

    def __init__(self, *, alone: bool) -> None:
        if alone and os.getpid() != 1:
            # To kill everybody is only right where everybody is in the cell.
            raise OSError(1, "this is not the first process of a namespace")
        self.alone = alone
        """Whether this is the first process of a PID namespace: all others are of the family."""

    def members(self) -> list[int]:
        """Return the processes that are there, this one left out."""
        if self.alone:
            own = os.getpid()
            return [
                int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != own
            ]
        parents: dict[int, list[int]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                parents.setdefault(_parent(name), []).append(int(name))
        found: list[int] = []
        heads = [os.getpid()]
        while heads:
            children = parents.get(heads.pop(), [])
            found += children
            heads += children
        return found

    def living(self) -> int:
        """Return how many have not ended; those that wait to be buried are none."""
        return sum(_state(member) not in {"Z", "X", ""} for member in self.members())

    def usage(self) -> tuple[int, int]:
        """Return how many threads there are, and how much memory; what is shared counts once."""
        found = [_usage(member) for member in self.members()]
        shared = max((usage[2] for usage in found), default=0)
        return sum(usage[0] for usage in found), sum(usage[1] for usage in found) + shared

    def end(self) -> int:
        """Kill all until none is left; return how many could not be."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            if self.alone:
                _kill(-1)
            else:
                for member in self.members():
                    _kill(member)
            if not self._reap_or_wait():
                return 0
            if time.monotonic() > deadline:
                return len(self.members())

    def _reap_or_wait(self) -> bool:
        """Reap what has ended; return False when there is nobody any more."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            signal.sigtimedwait({signal.SIGCHLD}, 0.005)
        except ChildProcessError:
            return False
        return True


def _kill(number: int) -> None:
    try:
        os.kill(number, signal.SIGKILL)
    except OSError:
        pass  # it has ended by itself


def _parent(name: str) -> int:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return -1


def _state(member: int) -> str:
    try:
        with open(f"/proc/{member}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode("ascii")
    except (OSError, IndexError):
        return ""


def _usage(member: int) -> tuple[int, int, int]:
    """Return the threads of a process, the bytes that it has for itself, and those it may share."""
    threads, own, shared = 1, 0, 0
    try:
        with open(f"/proc/{member}/status", "rb") as file:
            for line in file:
                if line.startswith(b"RssAnon:"):
                    own = int(line.split()[1]) << 10
                elif line.startswith(b"RssShmem:"):
                    shared = int(line.split()[1]) << 10
                elif line.startswith(b"Threads:"):
                    threads = int(line.split()[1])
                    break  # the last of the three
    except (OSError, IndexError):
        pass  # it has ended
    return threads, own, shared
