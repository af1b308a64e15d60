"""A scratch repository in which an agent works by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planbound.usecases.loop.desk import Probe
from planbound.usecases.loop.loop import Loop
from planbound.wiring.loop import open_loop
from tests.program import Outcome
from tests.run.bench import Bench

CALL = """\
import json, sys
from planbound.wiring.loop import open_loop
loop = open_loop(session=sys.argv[1])
told = getattr(loop, sys.argv[2])(**json.loads(sys.argv[3]))
print(json.dumps([told.ok, told.text, dict(told.data)]))
"""
SHOWN = "I looked at the output, and it says 3 lines"
"""Evidence of substance."""
Given = Mapping[str, object]
A: Given = {"title": "Make a", "contract": "grep -qx right src/a", "touches": ["src/a"]}
B: Given = {"title": "Make b", "contract": "grep -qx right src/b", "touches": ["src/b"]}


class Scratch(Bench):
    """A git repository with a state of its own."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        super().__init__(folder, settings=settings)
        (self.workspace / ".git").rmdir()
        subprocess.run(["git", "init", "-q", str(self.workspace)], check=True)
        if settings:
            self.write("planbound.toml", settings)

    def loop(self, session: str = "s1", name: str | None = None, **probes: Probe) -> Loop:
        """Return the tools and the gate of a session."""
        return open_loop(
            workspace=str(self.workspace),
            state=str(self.folder / "state"),
            session=session,
            name=name,
            probes=probes,
        )

    def right(self, *names: str) -> None:
        """Do the work of some steps."""
        for name in names:
            self.write(f"src/{name}", "right\n")

    def call(self, session: str, tool: str, arguments: dict[str, Any], **extra: str) -> Outcome:
        """Call a tool in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-c", CALL, session, tool, json.dumps(arguments)],
            cwd=self.workspace,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=self.environment(**extra),
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    @property
    def file(self) -> Path:
        """Return the file of the only plan."""
        (found,) = (self.workspace / ".harness").glob("PLAN*.md")
        return found
