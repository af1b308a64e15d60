"""Somebody at a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from tests.forked import Place, Started

SECONDS = 60.0


class Typed:
    """The program on a terminal of its own, and what is typed there."""

    def __init__(self, workspace: Path, environment: Mapping[str, str], *arguments: str) -> None:
        self.main, side = pty.openpty()
        self.process = Started(arguments, Place(workspace, environment), [side] * 3)
        os.close(side)
        self.seen = ""

    def until(self, text: str) -> str:
        """Return what was printed up to a text."""
        end = time.monotonic() + SECONDS
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} is not in {self.seen!r}"
            if select.select([self.main], [], [], 1.0)[0]:
                self.seen += self._read()
        before, self.seen = self.seen.split(text, 1)
        return before.replace("\r\n", "\n")

    def _read(self) -> str:
        try:
            data = os.read(self.main, 65536)
        except OSError:  # the other end is closed
            data = b""
        assert data, f"it ended after {self.seen!r}"
        return data.decode()

    def say(self, text: str, then: str) -> str:
        """Type a line; return what is printed up to a text."""
        os.write(self.main, f"{text}\n".encode())
        return self.until(then)

    def interrupt(self) -> None:
        """Send what Ctrl-C sends."""
        self.process.send_signal(signal.SIGINT)

    def end(self, text: str | None = None) -> tuple[int, str]:
        """Type the last line; return the exit code and what else was printed."""
        if text is not None:
            os.write(self.main, f"{text}\n".encode())
        with contextlib.suppress(OSError, AssertionError):
            while True:
                self.seen += self._read()
        code = self.process.wait(timeout=SECONDS)
        os.close(self.main)
        return code, self.seen.replace("\r\n", "\n")
