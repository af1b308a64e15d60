"""Who ends commands without a cell when the harness is killed.

A parent's death can be told to a child by the kernel, but only if the child asks for it between
`fork` and `exec`: that takes a real fork of the harness, which costs 1 to 4 ms more than `vfork`
and is not safe while other threads run. So there is a second process instead: a shell that waits
at a pipe whose other end the harness alone holds. When that ends, the shell becomes a Python that
reads from shared memory which commands were running.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import weakref
from collections import deque
from collections.abc import Iterator

from planbound.errors import CellProblem
from planbound.shell.cell.host import python_that
from planbound.shell.cell.inside.warden import NOTE

_PLACES = 4096
"""How many commands may run at once."""
# A line says that nothing is left to do; the end of the pipe says that nobody could say so.
_SCRIPT = 'cd /; read -r _ || exec "$@"'


class Warden:
    """Notes commands for as long as they run."""

    def __init__(self) -> None:
        self.harness = os.getpid()
        self._free = deque(range(_PLACES))
        table = os.memfd_create("planbound-running", os.MFD_CLOEXEC)
        waiting, leash = os.pipe2(os.O_CLOEXEC)
        try:
            os.ftruncate(table, _PLACES * NOTE.size)
            self._notes = mmap.mmap(table, _PLACES * NOTE.size)
            process = _start(table, waiting)
        except OSError as error:
            os.close(leash)
            raise CellProblem(f"nothing can be started: {error.strerror}") from error
        finally:
            os.close(table)
            os.close(waiting)
        weakref.finalize(self, _dismiss, self.harness, process, leash)

    @contextlib.contextmanager
    def place(self, pipes: tuple[int, int]) -> Iterator[Place]:
        """Yield a place for a command that is about to be started, known by its pipes."""
        try:
            number = self._free.popleft()
        except IndexError:
            raise CellProblem(f"more than {_PLACES} commands at once") from None
        place = Place(self._notes, number * NOTE.size, pipes)
        try:
            place.note(0)
            yield place
        finally:
            place.clear()
            self._free.append(number)


class Place:
    """Where one command is noted."""

    def __init__(self, notes: mmap.mmap, offset: int, pipes: tuple[int, int]) -> None:
        self._notes = notes
        self._offset = offset
        self._pipes = pipes

    def note(self, process: int) -> None:
        """Note the command's process, once it has one."""
        NOTE.pack_into(self._notes, self._offset, process, *self._pipes)

    def clear(self) -> None:
        """Forget the command."""
        NOTE.pack_into(self._notes, self._offset, 0, 0, 0)


def _start(table: int, waiting: int) -> int:
    code = f"from planbound.shell.cell.inside.warden import main; main({table})"
    return os.posix_spawn(
        "/bin/sh",
        ["/bin/sh", "-c", _SCRIPT, "planbound-warden", *python_that(code)],
        {},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, waiting, 0),
            (os.POSIX_SPAWN_DUP2, table, table),  # so that `exec` leaves it open
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
        setsid=True,
    )


def _dismiss(harness: int, process: int, leash: int) -> None:
    if os.getpid() != harness:
        return  # a fork of the harness, which has no say in this
    with contextlib.suppress(OSError):
        os.write(leash, b"\n")
    os.close(leash)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process, 0)
