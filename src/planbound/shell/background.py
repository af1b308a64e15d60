"""A process of ours that goes on when the terminal is closed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from planbound.errors import FileProblem


class Background:
    """A planbound that was started apart from this one."""

    def __init__(self, arguments: Sequence[str], *, log: str) -> None:
        self.log = log
        try:
            os.makedirs(os.path.dirname(log), mode=0o700, exist_ok=True)
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise FileProblem(f"cannot write `{log}`: {error.strerror}") from error
        with open(descriptor, "wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "planbound", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Return its number."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """Return how it ended; None while it goes on."""
        return self._process.poll()

    def said(self) -> str:
        """Return what it printed so far."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read(20_000)
