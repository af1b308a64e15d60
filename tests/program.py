"""Drives the real program: its `main(argv)` in a fork, or a process where it takes one."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forked import Libraries, Place, run_program
from tests.project_environment import active_environment

SOUND = """\
---
type: plan
status: draft
owner: orchestrator
---

# Say hello in three languages

**Budget:** 20k tokens, 10 minutes

## Steps

### 1. Say it in English

**target:** coder
**touches:**
- hello.txt

**task:**
Write `hello` to `hello.txt`.

**contract:**
```shell
grep -qx hello hello.txt
```
exit_code == 0
**on_fail:** retry(2), then escalate

### 2. Say it in French

**target:** coder
**touches:**
- bonjour.txt

**task:**
Write `bonjour` to `bonjour.txt`.

**contract:**
```shell
grep -qx bonjour bonjour.txt
```

### 3. Say it in German (depends on 1, 2)

**target:** reviewer
**touches:**
- hallo.txt

**task:**
Write `hallo` to `hallo.txt`.

**contract:**
```shell
grep -qx hallo hallo.txt
```

## Postconditions

1. All three are there
   ```shell
   test -s hello.txt && test -s bonjour.txt && test -s hallo.txt
   ```
"""


@dataclass(frozen=True)
class Outcome:
    """What a process did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return standard output as JSON."""
        return json.loads(self.out)


WITHOUT_WALLS = ("-P", str(Path(__file__).with_name("without_walls.py")))
"""The program where only the weakest cell can be had."""


def caller() -> dict[str, str]:
    """Return what everybody sees who calls the program in a project with an environment."""
    return {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "VIRTUAL_ENV": active_environment(),
    }


class Program:
    """`planbound` in a workspace of its own."""

    program: tuple[str, ...] = ("-m", "planbound")
    """What Python is started with."""
    libraries: Libraries = "none"
    """Which of those that take long most commands import: for its forks they are there."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the workspace."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def plan(self, name: str, content: str | bytes = SOUND) -> Path:
        """Write a named plan."""
        return self.write(f".harness/PLAN-{name}.md", content)

    def environment(self, **extra: str) -> dict[str, str]:
        """Return what the process sees."""
        home = str(self.workspace / ".home")
        return {**caller(), "HOME": home, **extra}

    def run(
        self,
        *arguments: str,
        stdin: str | bytes = b"",
        cwd: Path | None = None,
        obeys_permissions: bool = False,
        process: bool = False,
        **extra: str,
    ) -> Outcome:
        """Run the program to its end; with `obeys_permissions` root may do no more than others.

        It runs in a fork, unless `process` or what it is given takes a new interpreter.
        """
        given = stdin.encode() if isinstance(stdin, str) else stdin
        place, environment = cwd or self.workspace, self.environment(**extra)
        if process or obeys_permissions or not self.forks(environment):
            done = subprocess.run(
                [sys.executable, *self.program, *arguments],
                cwd=place,
                input=given,
                capture_output=True,
                timeout=300,
                check=False,
                env=environment,
                preexec_fn=_drop_override if obeys_permissions else None,
            )
            return outcome(done.returncode, done.stdout, done.stderr)
        return outcome(*run_program(arguments, self.place(place, environment, given)))

    def forks(self, environment: Mapping[str, str]) -> bool:
        """Say whether a fork does as well as a new interpreter."""
        known = self.program in {Program.program, WITHOUT_WALLS}
        return known and not takes_a_process(environment)

    def place(self, cwd: Path, environment: Mapping[str, str], stdin: bytes = b"") -> Place:
        """Return what a fork finds."""
        walls = self.program != WITHOUT_WALLS
        return Place(cwd, environment, stdin, self.libraries, walls)


def takes_a_process(environment: Mapping[str, str]) -> bool:
    """Say whether a variable says how Python starts."""
    return environment.get("LC_ALL") != "C.UTF-8" or any(
        name.startswith("PYTHON") for name in environment
    )


def outcome(code: int, out: bytes, err: bytes) -> Outcome:
    """Return what it did, as text."""
    return Outcome(
        code, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "surrogateescape")
    )


def _drop_override() -> None:
    """Take away what lets root pass by file permissions."""
    prctl = ctypes.CDLL(None).prctl
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
