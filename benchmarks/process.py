"""Programs that are measured from outside: how long, and how much memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, NoReturn

_LAUNCHER = Path(__file__).with_name("peers") / "launch.py"


class Launch(NamedTuple):
    """What a program that ended well took; times are of the monotonic clock, but for `wall`."""

    wall: float
    """When it was started, in seconds since 1970."""
    start: float
    end: float
    megabytes: float
    """The most that one of its processes had."""

    @property
    def seconds(self) -> float:
        """How long the whole process took."""
        return self.end - self.start


def launch(command: list[str], folder: str, environment: dict[str, str]) -> Launch:
    """Run a program in a folder; stop the benchmark with its output where it does not end well."""
    with tempfile.NamedTemporaryFile(prefix="planbound-bench-") as report:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(_LAUNCHER), report.name, *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            broken(command, done.returncode, done.stdout)
        return Launch(**json.load(report))


def broken(command: list[str], code: int, output: bytes) -> NoReturn:
    """Stop the benchmark: a run that broke has no number."""
    shown = output.decode(errors="replace")[-4000:]
    sys.exit(f"{' '.join(command)}\nended with {code}, so there is nothing to measure:\n{shown}")


def clean_environment(home: str, **more: str) -> dict[str, str]:
    """Return an environment with nothing of the user's in it."""
    # Byte code is kept, as for a user. Some machines that test software switch that off.
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "LANG": "C.UTF-8"} | more
