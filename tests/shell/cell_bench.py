"""What the tests of cells share: a workspace, a cell of one kind, and a look at who is alive."""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from planbound.engine.judging.outcome import Ending, Outcome
from planbound.ports.cell import Limits, Request
from planbound.shell.cell import bubblewrap, kernel_support
from planbound.shell.cell.scratch import Scratch
from tests.needs import need
from tests.shell import cell_harness
from tests.shell.cell_harness import KINDS, STARTED, Told

ALL = tuple(KINDS)
STARTABLE = tuple(STARTED)
WALLED = ("namespaces", "bubblewrap", "landlock")
APART = ("namespaces", "bubblewrap")
"""The kinds that have namespaces."""
COPIED = ("landlock", "copy")

_SOURCE = Path(__file__).parents[2] / "src"
PATH = "/usr/local/bin:/usr/bin:/bin"


class Bench:
    """A workspace and a cell."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.scratch = str(folder / "scratch")
        self.cell = STARTED[kind](Scratch(self.scratch))

    def write(self, name: str, content: str | bytes = "as it was\n") -> Path:
        """Write a file, seen from the workspace."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def request(self, script: str, **changes: Any) -> Request:
        """Return a request to run a script of bash."""
        request = Request(
            command=("/bin/bash", "-c", script),
            workspace=str(self.workspace),
            environment={"PATH": PATH, "HOME": "{home}"},
            limits=Limits(seconds=30),
        )
        return request._replace(**changes)

    def run(self, script: str, **changes: Any) -> Outcome:
        """Run a script in the cell."""
        return self.cell.run(self.request(script, **changes))

    def says(self, script: str, **changes: Any) -> str:
        """Return what a script writes to its output; it must end well."""
        outcome = self.run(script, **changes)
        assert outcome.ending is Ending.EXITED, outcome
        assert outcome.exit_code == 0, outcome
        return outcome.stdout.text()

    def works(self) -> bool:
        """Say whether the next command runs as if nothing had happened."""
        return self.says("echo it works") == "it works\n"

    def names(self) -> list[str]:
        """Return all that is in the workspace on the host."""
        return sorted(
            os.path.relpath(os.path.join(folder, name), self.workspace)
            for folder, folders, files in os.walk(self.workspace)
            for name in (*folders, *files)
        )

    def rooms(self) -> list[str]:
        """Return what cells have left in the scratch folder."""
        return sorted(os.listdir(self.scratch)) if os.path.isdir(self.scratch) else []

    @contextlib.contextmanager
    def harness(self, script: str, **changes: Any) -> Iterator[subprocess.Popen[bytes]]:
        """Start a harness in a process of its own; it is dead in the end."""
        with subprocess.Popen(
            [sys.executable, cell_harness.__file__, self.kind, self.scratch],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": PATH, "PYTHONPATH": str(_SOURCE)},
        ) as process:
            assert process.stdin is not None
            try:
                process.stdin.write(pickled(self.request(script, **changes)))
                process.stdin.close()
                yield process
            finally:
                process.kill()


def pickled(request: Request) -> bytes:
    """Return a request as a harness in its own process reads it."""
    return pickle.dumps(request)


def told(data: bytes) -> Told:
    """Return what a harness in its own process said in the end."""
    return Told(*pickle.loads(data))


def can_be_had(kind: str) -> None:
    """Leave a test out where a kind of cell cannot be had."""
    if kind == "bubblewrap":
        need(bubblewrap.PROGRAM, "a kind of cell is made by it")
    if kind == "landlock" and not kernel_support.landlock_version():
        pytest.skip("the kernel has no Landlock")


def _bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    kind: str = request.param
    can_be_had(kind)
    return Bench(kind, tmp_path)


bench = pytest.fixture(params=ALL, name="bench")(_bench)


def cells(*kinds: str) -> pytest.MarkDecorator:
    """Run a test for some kinds of cell only."""
    return pytest.mark.parametrize("bench", kinds, indirect=True)


def nap() -> str:
    """Return a number of seconds that no other process sleeps for."""
    return f"300.{secrets.randbelow(10**9):09d}"


def running(word: str) -> list[int]:
    """Return the processes that have a word in their arguments."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                if word.encode() in file.read().split(b"\0"):
                    found.append(int(name))
    return found


def end(word: str) -> None:
    """End what a broken cell left over, so that it is in nobody's way."""
    for number in running(word):
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)


def remove(path: str) -> None:
    """Remove a folder of any depth."""
    subprocess.run(["/bin/rm", "-rf", path], check=True)


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    """Wait for a condition, and not for ever; return whether it came true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail where something is waited for that does not come."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
