"""A launcher that stays: for every order it forks a process, which is the first one of a cell.

It has imported what a cell needs, and nothing else. Descriptors are all that it takes and passes
on: no order and nothing that a cell wrote is ever in its memory. What it forks is what a fresh
interpreter would be, and closes the way to the harness before it looks at its order.
"""

from __future__ import annotations

import _signal as signal
import _socket
import os
import struct

from planbound.cells.inside import kernel, launch, seccomp

ALWAYS = 6
"""How many descriptors come with every order: `order`, `report`, `leash`, `stdout`, `stderr`, and
a line to the harness: a socket that the new process answers by, and has as long as it lives."""
AT_MOST = 8
"""With `stdin` and `egress`; the message says by a byte for each whether it is there."""
_NUMBERS = struct.Struct("i")
_ROOM = _socket.CMSG_SPACE(AT_MOST * _NUMBERS.size)


def main(channel: int, harness: int) -> None:
    """Fork a process for every message, until the harness is no more. Never returns."""
    kernel.hide_memory()
    # The thread that started this process may have blocked what a cell is told by.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _end_with(harness)
    # Nobody waits for what is forked here: the harness sees its end by itself.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if seccomp.is_supported():
        for sockets, tells in ((False, False), (True, False), (True, True)):
            seccomp.program(sockets=sockets, tells=tells)
    door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fileno=channel)
    own = os.getpid()
    while True:
        said, passed, flags, _ = door.recvmsg(AT_MOST, _ROOM, _socket.MSG_CMSG_CLOEXEC)
        if not said:
            os._exit(0)
        given = [number for _, _, data in passed for (number,) in _NUMBERS.iter_unpack(data)]
        whole = not flags & (_socket.MSG_CTRUNC | _socket.MSG_TRUNC)
        try:
            if whole and len(given) == ALWAYS + sum(said) and os.fork() == 0:
                _become_first(given, said, own)
        except OSError:
            pass  # the harness sees that nobody answers
        finally:
            for number in given:
                os.close(number)


def _end_with(harness: int) -> None:
    """End when the harness does, even where a fork of it holds its end of the socket.

    The signal comes, too, when only the thread ends that started this process.
    """

    def look(*_: object) -> None:
        if os.getppid() != harness:
            os._exit(0)

    signal.signal(signal.SIGUSR1, look)
    kernel.die_with_parent(signal.SIGUSR1)
    look()


def _become_first(given: list[int], optional: bytes, parent: int) -> None:
    """Be the first process of a cell. Never returns."""
    try:
        order, report, leash, stdout, stderr, line, *more = given
        _close_all_but(given)
        os.setsid()
        for number in (signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        kernel.show_memory()
        _answer(line)
        for number in (stdout, stderr):
            os.close(number)
        rest = iter(more)
        stdin, egress = (next(rest) if there else -1 for there in optional)
        launch.main(order, report, leash, stdin, egress, parent)
    finally:
        os._exit(1)


def _close_all_but(kept: list[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass  # by that one the folder was read


def _answer(line: int) -> None:
    """Hand the harness this process, to be able to end it; from here on there is a cell."""
    door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=line)
    own = os.pidfd_open(os.getpid())
    door.sendmsg([b"x"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _NUMBERS.pack(own))])
    os.close(own)
    # The kernel closes it when this process ends: before it takes the mounts away, which takes as
    # long as to make a cell, and which nobody has to wait for.
    door.detach()
