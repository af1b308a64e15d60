"""A session of an agent host: a workspace with a plan, and hooks that are asked as hosts do."""

import json
from pathlib import Path
from typing import Any

from tests.forked import Place, run_tool
from tests.program import Outcome, Program

STEP = {"title": "Make one", "contract": "sh check.sh", "touches": ["one.txt"]}


class Session(Program):
    """A workspace, a home and a state home, apart from each other."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "workspace")
        self.home = folder / "home"
        for path in (self.workspace / ".git", self.home):
            path.mkdir(parents=True)

    def environment(self, **extra: str) -> dict[str, str]:
        return {**super().environment(), "HOME": str(self.home), **extra}

    def create(self, steps: Any = (STEP,), **extra: str) -> None:
        """Write a plan as an agent does by the tools."""
        self.write("check.sh", "grep -qx right one.txt\n")
        done = run_tool(
            "tools",
            "plan_create",
            {"objective": "Make one right", "steps": list(steps)},
            Place(self.workspace, self.environment(**extra)),
        )
        assert done[0] == 0, done
        assert json.loads(done[1])[0], done

    def finish_step(self) -> None:
        """Say that the first step is done, as an agent does by the tools."""
        done = run_tool(
            "tools",
            "step_update",
            {"step": 1, "status": "done"},
            Place(self.workspace, self.environment()),
        )
        assert done[0] == 0, done
        assert json.loads(done[1])[0], done

    def event(self, **fields: Any) -> dict[str, Any]:
        """Return what a host says."""
        return {"session_id": "s-1", "cwd": str(self.workspace), **fields}

    def ask(self, moment: str, host: str | None = None, /, *words: str, **fields: Any) -> Any:
        """Ask a hook as a host does; return its answer."""
        chosen = ("--host", host) if host else ()
        done = self.hook(moment, *chosen, *words, stdin=json.dumps(self.event(**fields)))
        return answer_of(done)

    def hook(self, *words: str, stdin: str | bytes = b"", **extra: Any) -> Outcome:
        return self.run("hook", *words, stdin=stdin, **extra)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind in the journal."""
        lines = self.run("log", "--json").out.splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]


def answer_of(done: Outcome) -> Any:
    """Return the answer: whatever happened, one JSON object and exit code 0."""
    assert done.code == 0, done
    assert done.out.count("\n") == 1, done
    found = json.loads(done.out)
    assert isinstance(found, dict)
    return found
