"""Where exercises are laid, and how commands are run in them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from evals.exercise import Exercise, Files, Language, Layout

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SECONDS = 60.0
"""For a command of an exercise."""


class Ran(NamedTuple):
    """What came of a command."""

    code: int | None
    """None: it ran past its limit."""
    output: str
    seconds: float


class Bench(NamedTuple):
    """A folder for one exercise: its workspace, and beside it what no agent sees."""

    folder: Path
    environment: str
    """The Python environment of the project."""
    data: Path
    """The data folder: it may have packages of Node."""

    @property
    def workspace(self) -> Path:
        """Where the agent works."""
        return self.folder / "workspace"

    @property
    def held_out(self) -> Path:
        """Where the held-out tests are."""
        return self.folder / "held_out"

    @property
    def binaries(self) -> tuple[str, ...]:
        """The folders of the project's own programs."""
        return (f"{self.environment}/bin", f"{self.data}/node/node_modules/.bin")

    def lay(self, exercise: Exercise, layout: Layout) -> None:
        """Lay the exercise as it is before the work."""
        shutil.rmtree(self.folder, ignore_errors=True)
        write(self.workspace, exercise.support)
        write(self.workspace, exercise.starter)
        write(self.workspace, layout.visible)
        if layout.held_out:
            write(self.held_out, layout.held_out)
        if exercise.language is Language.JAVASCRIPT:
            modules = self.data / "node/node_modules"
            (self.workspace / "node_modules").symlink_to(modules)

    def variables(self, **more: str) -> dict[str, str]:
        """Return the environment of a user who has activated the project's."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        path = os.pathsep.join((*self.binaries, SYSTEM_PATH))
        known = {"HOME": str(home), "PATH": path, "LC_ALL": "C.UTF-8"}
        return known | {"VIRTUAL_ENV": self.environment, "PYTHONDONTWRITEBYTECODE": "1"} | more

    def run(
        self,
        words: Sequence[str],
        *,
        seconds: float = SECONDS,
        folder: Path | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run a command to its end, or to its limit."""
        begun = time.monotonic()
        with subprocess.Popen(
            list(words),
            cwd=folder or self.workspace,
            env=self.variables(**(more or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, problems = process.communicate(timeout=seconds)
                code: int | None = process.returncode
            except subprocess.TimeoutExpired:
                code, output, problems = None, "", ""
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return Ran(code, output if code == 0 else output + problems, time.monotonic() - begun)

    def contract(self, command: str) -> Ran:
        """Run a contract's command in the workspace, with nothing around it."""
        return self.run(["/bin/bash", "-e", "-c", command])


def write(folder: Path, files: Files) -> None:
    """Write texts into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
