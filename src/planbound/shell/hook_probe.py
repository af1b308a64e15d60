"""Asks a hook as its host does: a command line for the shell, an event on standard input."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping

from planbound.errors import FileProblem

SECONDS = 20.0


def ask_hook(command: str, event: bytes, environment: Mapping[str, str]) -> str:
    """Return what a hook prints, asked where there is nothing to judge; raise FileProblem."""
    with tempfile.TemporaryDirectory(prefix="planbound-doctor-") as folder:
        try:
            process = subprocess.Popen(  # noqa: S603 - the words of the settings, as a host runs them
                ["/bin/sh", "-c", command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise FileProblem(f"it cannot be started: {error.strerror}") from error
        try:
            printed, _ = process.communicate(event, timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise FileProblem(f"it did not answer within {SECONDS:g} s") from error
    if process.returncode != 0:
        raise FileProblem(f"it ended with {process.returncode}, and a host ignores it then")
    return printed.decode("utf-8", "replace")
