"""A scratch repository in which an agent works by itself."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planbound.session.context import Probe
from planbound.session.tools import PlanTools, open_tools
from tests.forked import Place, run_tool
from tests.program import Outcome, outcome
from tests.run.bench import Bench

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

    def loop(self, session: str = "s1", name: str | None = None, **probes: Probe) -> PlanTools:
        """Return the tools and the gate of a session."""
        return open_tools(
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
        place = Place(self.workspace, self.environment(**extra))
        return outcome(*run_tool(session, tool, arguments, place))

    @property
    def file(self) -> Path:
        """Return the file of the only plan."""
        (found,) = (self.workspace / ".harness").glob("PLAN*.md")
        return found
