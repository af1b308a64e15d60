"""Drives the real program as a process."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def caller() -> dict[str, str]:
    """Return what everybody sees who calls the program in a project with an environment."""
    return {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "VIRTUAL_ENV": active_environment(),
    }


class Program:
    """`planbound` in a workspace of its own."""

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
        **extra: str,
    ) -> Outcome:
        """Run the program to its end; with `obeys_permissions` root may do no more than others."""
        done = subprocess.run(
            [sys.executable, "-m", "planbound", *arguments],
            cwd=cwd or self.workspace,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=60,
            check=False,
            env=self.environment(**extra),
            preexec_fn=_drop_override if obeys_permissions else None,
        )
        return Outcome(
            done.returncode,
            done.stdout.decode("utf-8", "surrogateescape"),
            done.stderr.decode("utf-8", "surrogateescape"),
        )


def _drop_override() -> None:
    """Take away what lets root pass by file permissions."""
    prctl = ctypes.CDLL(None).prctl
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
