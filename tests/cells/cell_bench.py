"""What the tests of cells share: a workspace, a cell of one kind, and a look at who is alive."""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

from planbound.cells import choose as bubblewrap
from planbound.cells import choose as kernel_support
from planbound.cells import launcher
from planbound.cells.cell import CommandEnding, Limits, Outcome, Request
from planbound.cells.scratch import Scratch
from tests.cells import cell_harness
from tests.cells.cell_harness import AFRESH, KINDS, NoLauncher, Told
from tests.needs import need

ALL = tuple(KINDS)
WALLED = ("namespaces", "bubblewrap", "landlock")
APART = ("namespaces", "bubblewrap")
"""The kinds that have namespaces."""
COPIED = ("landlock", "copy")

_SOURCE = Path(__file__).parents[2] / "src"
PATH = "/usr/local/bin:/usr/bin:/bin"


class Bench:
    """A workspace and a cell."""

    def __init__(self, kind: str, folder: Path, *, afresh: bool = False) -> None:
        self.kind = kind
        self.afresh = afresh
        """Whether its cells are started by fresh interpreters, and not by a launcher."""
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.scratch = str(folder / "scratch")
        self.cell = KINDS[kind](Scratch(self.scratch))

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
        assert outcome.ending is CommandEnding.EXITED, outcome
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

    def ways(self) -> list[str]:
        """Return how a harness in its own process is told to start its cells."""
        return [AFRESH] if self.afresh else []

    @contextlib.contextmanager
    def harness(self, script: str, **changes: Any) -> Iterator[subprocess.Popen[bytes]]:
        """Start a harness in a process of its own; it is dead in the end."""
        with subprocess.Popen(
            [sys.executable, cell_harness.__file__, self.kind, self.scratch, *self.ways()],
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
    kind, _, way = request.param.partition(" ")
    can_be_had(kind)
    if way == AFRESH:
        request.getfixturevalue("monkeypatch").setattr(launcher, "WARM", NoLauncher())
    return Bench(kind, tmp_path, afresh=way == AFRESH)


def by_strength(kinds: Sequence[str]) -> list[Any]:
    """Return kinds of cells as parameters: the first, which is the strongest, is tested always."""
    return [kinds[0], *(pytest.param(kind, marks=pytest.mark.thorough) for kind in kinds[1:])]


def in_both_ways(kinds: Sequence[str]) -> list[Any]:
    """Return the same, each in both ways in which its first process can come to be."""
    # Bubblewrap starts a fresh interpreter in any case.
    return by_strength([*kinds, *(f"{kind} {AFRESH}" for kind in kinds if kind != "bubblewrap")])


bench = pytest.fixture(params=in_both_ways(ALL), name="bench")(_bench)


def cells(*kinds: str) -> pytest.MarkDecorator:
    """Run a test for some kinds of cell only."""
    return pytest.mark.parametrize("bench", in_both_ways(kinds), indirect=True)


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A folder that everybody may read, with our package in it."""
    folder = Path(tempfile.mkdtemp(prefix="planbound-test-"))
    try:
        folder.chmod(0o755)
        source = Path(cell_harness.__file__).parents[2] / "src"
        own = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / "src", ignore=own)
        # The interpreter that everybody may run has no packages; this one the cells need.
        shutil.copytree(Path(msgspec.__file__).parent, folder / "src" / "msgspec", ignore=own)
        shutil.copy(cell_harness.__file__, folder / "harness.py")
        (folder / "own").mkdir()
        os.chown(folder / "own", 65534, 65534)
        yield folder
    finally:
        shutil.rmtree(folder)


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
