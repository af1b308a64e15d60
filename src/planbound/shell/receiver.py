"""Starts a command that is told of an event."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import IO

from planbound.engine.notify import Command
from planbound.ports.notify import Answer, Message, Reception

_LOOK = 0.05
_TAIL = 2000


def run_receiver(
    command: Command,
    message: Message,
    *,
    folder: str,
    environment: Mapping[str, str],
    seconds: float,
    hurry: Callable[[], bool],
) -> Answer:
    """Run a command with the event on its standard input and its names in the environment."""
    told = {
        "PLANBOUND_EVENT": message.event,
        "PLANBOUND_PLAN": message.plan,
        "PLANBOUND_TASK": message.task,
    }
    # Files and not pipes: neither a command that does not read nor what it leaves in the
    # background holds us up.
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(message.body + b"\n")
        stdin.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the configuration's own words, no shell
                command.words,
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=folder,
                env={**environment, **{name: _plain(text) for name, text in told.items()}},
                start_new_session=True,
            )
        except OSError as error:
            return Answer(Reception.REFUSED, f"it cannot be started: {error.strerror}")
        try:
            return _wait(process, stderr, seconds, hurry)
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait(
    process: subprocess.Popen[bytes], stderr: IO[bytes], seconds: float, hurry: Callable[[], bool]
) -> Answer:
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK)
        code = process.returncode
        if code == 0:
            return Answer(Reception.TAKEN)
        if code is not None:
            how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
            return Answer(Reception.REFUSED, f"{how}{_last_words(stderr)}")
        if time.monotonic() >= end:
            return Answer(Reception.REFUSED, f"it did not end within {seconds:g} s")
        if hurry():
            return Answer(Reception.BROKEN_OFF)


def _last_words(stderr: IO[bytes]) -> str:
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - _TAIL))
    lines = stderr.read(_TAIL).decode("utf-8", "replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1][:200]}" if said else ""


def _plain(text: str) -> str:
    return text.replace("\0", "")
