"""Processes of ours that do not outlive this one: when it dies, however it dies, they stop.

`python -m planbound.shell.children PARENT WORDS...` is how one of them begins: it asks the kernel
for a signal at the death of its parent, then is `planbound WORDS...`.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Sequence

from planbound.errors import ExitCode, FileProblem

_TAIL = 16 * 1024
_LARGE = 1 << 20


class ChildProcess:
    """A planbound that this one started, with a session and a log of its own.

    The kernel watches the thread that started it: that has to be the main one.
    """

    def __init__(self, arguments: Sequence[str], *, log: str) -> None:
        self.log = log
        try:
            os.makedirs(os.path.dirname(log), mode=0o700, exist_ok=True)
            # Others may write into it: who is refused because they run it must not erase that.
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise FileProblem(f"cannot write `{log}`: {error.strerror}") from error
        with open(descriptor, "ab") as output:
            if output.tell() > _LARGE:
                output.truncate(0)
            self._begin = os.fstat(descriptor).st_size
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                # Safe path: a module in the current folder must not stand in for one of ours.
                [sys.executable, "-P", "-m", __name__, str(os.getpid()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def exit_code(self) -> int | None:
        """Return how it ended; None while it goes on."""
        return self._process.poll()

    def stop(self) -> None:
        """Ask it to end in peace."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """End it at once; what it started dies with it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def last_lines(self, most: int) -> list[str]:
        """Return what it printed last."""
        try:
            with open(self.log, "rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(self._begin if end >= self._begin else 0, end - _TAIL))
                text = file.read(_TAIL).decode("utf-8", "replace")
        except OSError:
            return []
        return [line for line in text.splitlines() if line.strip()][-most:]


def begin(words: Sequence[str]) -> None:
    """Be a child of a process: `words` are its number and our own command line."""
    parent, *arguments = words
    if sys.platform.startswith("linux"):  # elsewhere runs go on, and a new fleet waits for them
        from planbound.shell.cell.inside.kernel import die_with_parent  # noqa: PLC0415 - only here

        die_with_parent(signal.SIGTERM)
    if os.getppid() != int(parent):  # it died before we could ask to be told
        sys.exit(ExitCode.INTERRUPTED)
    sys.argv = ["planbound", *arguments]
    runpy.run_module("planbound", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    begin(sys.argv[1:])
