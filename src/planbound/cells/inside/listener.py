"""Hears of calls by which commands of different cells can meet, and lets every one of them go on.

The filter has looked at numbers only, and the answer is always the same: nothing that the command
changes meanwhile matters for it. What counts is that somebody asked.
"""

from __future__ import annotations

import _signal as signal
import _thread
import errno
import fcntl
import os
import struct
import time

from planbound.cells.inside import kernel, seccomp

DOOR, REFUSED = b"\0", b"\1"
"""How a line to the keeper begins: with the descriptor of a listener, or why there is none."""
_CALL = 80
"""How long the kernel's description of a call is; the requests below contain it."""
_RECEIVE = 0xC0502100
_ANSWER = 0xC0182101
_ANSWERED = struct.Struct("QqiI")
_GO_ON = 1
_SET_FLAGS = 0x40082104
_SAME_CORE = 1
"""From Linux 6.6 on: who is told runs at once where the call was made."""
_PATIENCE = 0.01


def is_offered(keeper: int, waiting: int) -> bool:
    """Put the filter over this process, and wait until the keeper listens; False: there is none.

    The descriptor is not sent as such: that would be a call that waits for its own listener.
    """
    try:
        door = seccomp.install_telling()
    except OSError as error:
        os.write(keeper, REFUSED + f"{error.strerror}\n".encode("utf-8", "replace"))
        return False
    os.write(keeper, DOOR + b"%d\n" % door)
    os.read(waiting, 1)
    return True


class Listener:
    """A thread that waits in the kernel until the command makes such a call."""

    def __init__(self, door: int) -> None:
        self._door = door
        self.heard = False
        """Whether there was one. It is set before the call goes on."""

    @classmethod
    def of(cls, process: int, line: bytes) -> Listener:
        """Return the one of a process that waits, which has sent the line; raise OSError."""
        handle = os.pidfd_open(process)
        try:
            listener = cls(kernel.descriptor_of(handle, int(line[1:])))
        finally:
            os.close(handle)
        listener.begin()
        return listener

    def begin(self) -> None:
        """Listen until this process ends."""
        try:
            fcntl.ioctl(self._door, _SET_FLAGS, _SAME_CORE)
        except OSError:
            pass  # it only takes longer
        # Signals are for the thread that heeds the harness.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(self._listen, ())
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _listen(self) -> None:
        while True:
            call = bytearray(_CALL)
            try:
                fcntl.ioctl(self._door, _RECEIVE, call)
                self.heard = True
                answer = _ANSWERED.pack(int.from_bytes(call[:8], "little"), 0, 0, _GO_ON)
                fcntl.ioctl(self._door, _ANSWER, answer)
            except OSError as error:
                if error.errno == errno.ENOENT:
                    # Who asked is dead; where nobody is left the kernel says it again and again.
                    time.sleep(_PATIENCE)
