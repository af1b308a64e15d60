"""The processes of a cell: counted, measured, ended."""

from __future__ import annotations

import _signal as signal
import os
import time

_PAGE = os.sysconf("SC_PAGE_SIZE")
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

    def usage(self) -> tuple[int, int]:
        """Return how many there are, and how much memory is theirs alone."""
        members = self.members()
        return len(members), sum(_memory(member) for member in members)

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


def _memory(member: int) -> int:
    try:
        with open(f"/proc/{member}/statm", "rb") as file:
            fields = file.read().split()
        return max(0, int(fields[1]) - int(fields[2])) * _PAGE
    except (OSError, IndexError):
        return 0
