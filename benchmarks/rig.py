"""Planbound as a user has it: a repository, an approved plan, and the program that runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from benchmarks.contest import stamp
from benchmarks.process import Launch, broken, clean_environment, launch

PROGRAM = str(Path(sys.executable).with_name("planbound"))
NOTHING = "true"
CELL = ""
DBOS = '[run]\nmotor = "dbos"\n'

_HEAD = """\
---
type: plan
status: draft
owner: bench
---

# Do nothing, often

**Budget:** 2h wall clock

## Steps

"""
# A contract that is only `true` is refused, as it should be. This one starts as many processes,
# and it is green from the start, which a step has to allow. Each is another one: what another step
# showed on the same files would be taken over.
_STEP = """\
### {number}. Do nothing, part {number}

**target:** {target}
**baseline:** any
{fields}
**task:** Do nothing at all in part {number}, and let the contract say that it is done.

**contract:**
```shell
test -s planbound.toml  # part {number}
```
exit_code == 0

"""


def plan_text(steps: int, *, last: str = "coder", apart: bool = False) -> str:
    """Return a plan; `last` does its last step; steps that stand `apart` may run together."""
    fields = "**depends:** none\n**touches:**\n- part{number}/**\n" if apart else ""
    return _HEAD + "".join(
        _STEP.format(
            number=number,
            target=last if number == steps else "coder",
            fields=fields.format(number=number),
        )
        for number in range(1, steps + 1)
    )


class Rig:
    """A new workspace with a state home of its own and an approved plan, `bench`."""

    def __init__(
        self,
        settings: str,
        plan: str,
        fill: Callable[[str], None] | None = None,
        *,
        is_repository: bool = True,
        **agents: str,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="planbound-bench-")
        self.root = os.path.join(self._folder.name, "repository")
        self._environment = clean_environment(
            self._folder.name, PLANBOUND_STATE=os.path.join(self._folder.name, "state")
        )
        os.makedirs(os.path.join(self.root, ".harness"))
        commands = {"coder": NOTHING} | agents
        tables = [
            f'[agents.{name}]\nkind = "command"\n'
            f"command = {json.dumps(['/bin/sh', '-c', script])}\n\n"
            for name, script in commands.items()
        ]
        Path(self.root, "planbound.toml").write_text("".join(tables) + settings, encoding="utf-8")
        if fill is not None:
            fill(self.root)
        if is_repository:
            self._say("git", "init", "--quiet")
        self.approve("bench", plan)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def approve(self, name: str, plan: str) -> None:
        """Write a plan and approve it."""
        Path(self.root, ".harness", f"PLAN-{name}.md").write_text(plan, encoding="utf-8")
        digest = json.loads(self._say(PROGRAM, "show", name, "--json").stdout)["digest"]
        self._say(PROGRAM, "approve", name, "--digest", digest[:12], "--as", "bench")

    def run(self, verb: str = "run", *options: str, plan: str = "bench") -> Launch:
        """Run or resume a plan to its end, measured."""
        return launch([PROGRAM, verb, plan, *options], self.root, self._environment)

    def events(self, plan: str) -> list[dict[str, Any]]:
        """Return what the journal tells of a plan."""
        lines = self._say(PROGRAM, "log", plan, "--json").stdout.splitlines()
        return [json.loads(line) for line in lines]

    def engine(self, steps: int) -> Launch:
        """Run the plan to its end with a cell that runs nothing, measured."""
        command = [sys.executable, "-m", "benchmarks.engine", str(steps)]
        return launch(command, self.root, self._with_benchmarks())

    def engine_killed_after(self, steps: int) -> None:
        """Run so many steps with a cell that runs nothing, and be killed in the next."""
        command = [sys.executable, "-m", "benchmarks.engine", str(steps)]
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self._with_benchmarks(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode != -signal.SIGKILL:
            broken(command, done.returncode, done.stdout + done.stderr)

    def _with_benchmarks(self) -> dict[str, str]:
        return self._environment | {"PYTHONPATH": str(Path(__file__).parents[1])}

    def imports(self) -> set[str]:
        """Run the plan to its end, and return the names of the packages that were imported."""
        said = self._say(PROGRAM, "run", "bench", PYTHONPROFILEIMPORTTIME="1").stderr.decode()
        lines = [line for line in said.splitlines() if line.startswith("import time:")]
        return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}

    def stamp(self, name: str, found: Launch) -> float:
        """Return how long after the start of the program an agent wrote that file."""
        return stamp(os.path.join(self.root, name), found)

    def _say(self, *command: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self._environment | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            broken([*command], done.returncode, done.stdout + done.stderr)
        return done
