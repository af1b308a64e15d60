"""How the first process of a cell comes to be: a fork of a launcher that is warm, or afresh.

A fresh interpreter takes longer to start than the walls of a cell do. So one is started with the
first cell and stays as long as this process does: `inside/warm.py`. Whatever is wrong with it, the
cell is started by a fresh one instead, and before that it is sure that nothing ran.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from typing import NamedTuple, Protocol

import planbound
from planbound.cells.isolation import KEEPER_MARK

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(planbound.__file__)))
_PATIENCE = 10.0
"""How long a launcher may take to fork; it may have to start first."""
_ENOUGH = 3
"""After so many failures nothing is expected of a launcher any more."""


class CellEnds(NamedTuple):
    """The descriptors that the first process of a cell is given; below 0: there is none."""

    order: int
    report: int
    leash: int
    stdout: int
    stderr: int
    stdin: int
    egress: int


class FirstProcess(Protocol):
    """The first process of a cell, as the harness sees it."""

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end, and not for ever; say whether it came."""

    def kill(self) -> None:
        """End it, if it has not ended."""

    def gave_up(self) -> bool:
        """Say whether it ended by itself although it made no cell."""

    def close(self) -> None:
        """Need it no more."""


def prepare() -> None:
    """Let a launcher start while there is something else to do before the first cell."""
    WARM.prepare()


def forked(ends: CellEnds) -> FirstProcess | None:
    """Have the launcher fork the first process of a cell; None where nothing was begun."""
    return WARM.start(ends)


def fresh(before: tuple[str, ...], ends: CellEnds) -> FirstProcess:
    """Start the first process of a cell afresh; raise OSError where that cannot be.

    `before` is a program that starts it, in namespaces that it makes: no launcher can do that.
    """
    return _Fresh(ends, before)


def _python_that(module: str, *numbers: int) -> list[str]:
    """Return the command of an interpreter that calls `main` of a module of `inside/`."""
    called = f"{KEEPER_MARK}{module} import main; main({', '.join(map(str, numbers))})"
    # Isolated, and without site-packages: nothing that a user installed runs here.
    return [
        *(sys.executable, "-I", "-S"),
        *("-c", f"import sys; sys.path.append({_PACKAGES!r}); {called}"),
    ]


# -- a fresh interpreter -------------------------------------------------------------------------


class _Fresh:
    """A process of its own interpreter."""

    def __init__(self, ends: CellEnds, before: tuple[str, ...]) -> None:
        numbers = (ends.order, ends.report, ends.leash, ends.stdin, ends.egress)
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [*before, *_python_that("launch", *numbers, os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=ends.stdout,
            stderr=ends.stderr,
            pass_fds=[number for number in numbers if number >= 0],
            start_new_session=True,
            env={"LC_ALL": "C.UTF-8"},
            cwd="/",
        )

    def wait(self, seconds: float | None = None) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        self._process.kill()

    def gave_up(self) -> bool:
        return (self._process.poll() or 0) > 0

    def close(self) -> None:
        pass


# -- a fork of a launcher that is warm -----------------------------------------------------------


class _Forked:
    """A process that a launcher has forked: it is not our child, but nobody else's number."""

    def __init__(self, handle: int, ending: int) -> None:
        self._handle = handle
        self._ending = ending
        """A descriptor that can be read when the process has ended."""

    def wait(self, seconds: float | None = None) -> bool:
        return is_ready(self._ending, seconds)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def gave_up(self) -> bool:
        return False  # it says so in its report; without one it was killed

    def close(self) -> None:
        os.close(self._handle)
        os.close(self._ending)


_KEPT = (b"Umask", b"Cap", b"NoNewPrivs", b"Seccomp")
_SPACES = ("cgroup", "ipc", "mnt", "net", "pid_for_children", "user", "uts")


class _Rights(NamedTuple):
    """What a new process inherits, as far as a cell rests on it."""

    user: tuple[object, ...]
    status: tuple[bytes, ...]
    limits: bytes
    spaces: tuple[str, ...]
    root: tuple[int, int]


def _rights() -> _Rights:
    """Return those of the thread that asks."""
    own = "/proc/thread-self"
    with open(f"{own}/status", "rb") as file:
        status = tuple(line for line in file if line.startswith(_KEPT))
    with open(f"{own}/limits", "rb") as file:
        limits = file.read()
    root = os.stat("/")
    return _Rights(
        user=(os.getresuid(), os.getresgid(), os.getgroups()),
        status=status,
        limits=limits,
        spaces=tuple(os.readlink(f"{own}/ns/{name}") for name in _SPACES),
        root=(root.st_dev, root.st_ino),
    )


class Launcher:
    """Starts a launcher when the first cell is wanted, and has it fork one process for each.

    Threads may use it at the same time. A fork of this process has another one. What is forked
    there has the launcher's rights, so it is asked by nobody who has others: this process when it
    is another user's now, or has other limits.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._rights: _Rights | None = None
        self._failures = 0
        self._heeded = False

    def prepare(self) -> None:
        """Have a launcher start, if there is none."""
        with self._lock, contextlib.suppress(OSError):
            self._ready()

    def start(self, ends: CellEnds) -> FirstProcess | None:
        """Return a new process; None where there is none, and nothing of the order was begun.

        Raise OSError where it was begun and cannot be had: it ends when its leash is let go.
        """
        if self._failures >= _ENOUGH:
            return None
        try:
            with self._lock:
                channel = self._ready()
                if channel is None:
                    return None
                line = _ask(channel, ends)
        except OSError:
            forked = None
        else:
            with line:
                forked = _answered(line)
        if forked is None:
            # It is left alone, and asked again: cells of other threads would end with it.
            self._failures += 1
        return forked

    def close(self) -> None:
        """End the launcher, if there is one; whatever it has forked and still runs ends, too."""
        with self._lock:
            self._end()

    def _ready(self) -> socket.socket | None:
        """Return the way to a launcher that lives; None where it has not this process's rights."""
        rights = _rights()
        if self._process is not None:
            same = self._rights is not None and rights.user == self._rights.user
            if not same or self._process.poll() is not None:
                self._end()
        if self._process is None:
            self._begin()
            self._rights = rights
        return self._channel if rights == self._rights else None

    def _begin(self) -> None:
        self._end()
        if not self._heeded:
            self._heeded = True
            atexit.register(self.close)
            os.register_at_fork(after_in_child=self._forget)
        self._channel, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                _python_that("warm", theirs.fileno(), os.getpid()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={"LC_ALL": "C.UTF-8"},
                cwd="/",
            )

    def _end(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            with contextlib.suppress(PermissionError):  # this is another user now: it ends itself
                self._process.kill()
            self._process.wait()
        self._channel = self._process = None

    def _forget(self) -> None:
        """Know nothing of a launcher that another process has: this one is a fork of it."""
        self._lock = threading.Lock()
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.returncode = 0  # nobody here can wait for it
        self._channel = self._process = None


def _ask(channel: socket.socket, ends: CellEnds) -> socket.socket:
    """Have a process forked; return our end of its line."""
    ours, theirs = socket.socketpair()
    optional = (ends.stdin, ends.egress)
    given = [*ends[:5], theirs.fileno(), *(each for each in optional if each >= 0)]
    with theirs:
        try:
            said = bytes(each >= 0 for each in optional)
            socket.send_fds(channel, [said], given, socket.MSG_NOSIGNAL)
        except BaseException:
            ours.close()
            raise
    return ours


def _answered(line: socket.socket) -> _Forked | None:
    """Return the process that answers; None where nobody does, nor ever will."""
    late = not is_ready(line.fileno(), _PATIENCE)
    if late:
        # Whoever has not answered by now cannot any more, and ends before it reads its order.
        line.shutdown(socket.SHUT_RDWR)
    said, handles, _, _ = socket.recv_fds(line, 1, 1, socket.MSG_CMSG_CLOEXEC)
    if not said:
        return None
    if not handles:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return _Forked(handles[0], os.dup(handles[0]) if late else line.detach())


def is_ready(descriptor: int, seconds: float | None) -> bool:
    """Wait until something can be read, or the other end is closed; say whether that came."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


WARM = Launcher()
"""This process's own."""
