"""Counts the files of Planbound that a command walks through.

Plans are approved, run and integrated by the real program in a scratch repository; only the agent
is scripted. Each command is a process of its own, started as this file, which writes down the
functions of Planbound in the order in which each was first called. What runs while a module is
imported is not counted, and neither are processes that the command starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

_OPTIMIZED = 0x1
"""Set on the code of functions, and not on that of modules and classes."""

AGENT = """\
#!/bin/sh
case "$(cat)" in
"# Say it in English"*) echo hello > "$PLANBOUND_PLAN-hello.txt" ;;
*) echo bonjour > "$PLANBOUND_PLAN-bonjour.txt" ;;
esac
"""

PLAN = """\
---
type: plan
status: draft
owner: mara
touches: ["{slug}-*.txt"]
---

# Say hello in two languages

**Budget:** 20k tokens, 10 minutes

## Steps

### 1. Say it in English

**target:** {slug}
**touches:**
- {slug}-hello.txt

**task:**
Write `hello` to `{slug}-hello.txt`.

**contract:**
```shell
grep -qx hello {slug}-hello.txt
```

### 2. Say it in French

**target:** {slug}
**touches:**
- {slug}-bonjour.txt

**task:**
Write `bonjour` to `{slug}-bonjour.txt`.

**contract:**
```shell
grep -qx bonjour {slug}-bonjour.txt
```

## Postconditions

1. Both are there
   ```shell
   test -s {slug}-hello.txt && test -s {slug}-bonjour.txt
   ```
"""


class Walk(NamedTuple):
    """The files of one command, in the order in which it came to their functions."""

    files: tuple[str, ...]

    @property
    def own(self) -> set[str]:
        """Return each file once."""
        return set(self.files)

    @property
    def changes(self) -> int:
        """Return how often a function that had not run before stood in another file."""
        return sum(before != after for before, after in pairwise(self.files))


class Walks(NamedTuple):
    """What was walked through."""

    approve: Walk
    run: Walk
    integrate: set[str]
    """Files that `integrate` came to, and no other command of its plan on the way there."""


def walk_of_run(source: Path) -> Walk:
    """Run a plan of two steps."""
    with tempfile.TemporaryDirectory(prefix="planbound-house-") as folder:
        scratch = _Scratch(Path(folder), source)
        scratch.plan("here")
        scratch.approve("here")
        return scratch.walk("run", "here")


def walks(source: Path) -> Walks:
    """Approve and run a plan of two steps; then another in a worktree, which is integrated."""
    with tempfile.TemporaryDirectory(prefix="planbound-house-") as folder:
        scratch = _Scratch(Path(folder), source)
        scratch.plan("here")
        approve = scratch.approve("here")
        run = scratch.walk("run", "here")
        scratch.plan("there")
        others = [
            approve,
            run,
            scratch.approve("there"),
            scratch.walk("spawn", "there"),
            scratch.walk("run", "there"),
        ]
        integrate = scratch.walk("integrate")
    return Walks(approve, run, integrate.own.difference(*(other.own for other in others)))


class _Scratch:
    """A repository with plans, each with an agent of its own."""

    def __init__(self, folder: Path, source: Path) -> None:
        self._folder, self._source = folder, source
        self._root = folder / "repository"
        (self._root / ".harness").mkdir(parents=True)
        (folder / "home").mkdir()
        self._environment = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "HOME": str(folder / "home"),
            "PLANBOUND_STATE": str(folder / "state"),
        }
        (self._root / ".gitignore").write_text(".harness/\nplanbound.toml\n", encoding="utf-8")
        self._say("git", "init", "--quiet", "--initial-branch", "main")
        self._say("git", "add", "--all")
        author = ("-c", "user.name=Mara", "-c", "user.email=mara@example.org")
        self._say("git", *author, "commit", "--quiet", "-m", "begin")

    def plan(self, slug: str) -> None:
        """Write a plan and its agent."""
        agent = self._folder / f"agent-{slug}"
        agent.write_text(AGENT.replace("$PLANBOUND_PLAN", slug), encoding="utf-8")
        agent.chmod(0o755)
        with (self._root / "planbound.toml").open("a", encoding="utf-8") as settings:
            settings.write(f'[agents.{slug}]\nkind = "command"\ncommand = ["{agent}"]\n')
        text = PLAN.format(slug=slug)
        (self._root / f".harness/PLAN-{slug}.md").write_text(text, encoding="utf-8")

    def approve(self, slug: str) -> Walk:
        """Approve a plan as it is."""
        shown = self._say(sys.executable, "-m", "planbound", "show", slug, "--json")
        digest = json.loads(shown)["digest"]
        return self.walk("approve", slug, "--digest", digest[:16], "--as", "mara")

    def walk(self, *arguments: str) -> Walk:
        """Run one command, which succeeds."""
        found = self._folder / "walk.json"
        self._say(sys.executable, __file__, str(found), str(self._source), *arguments)
        return Walk(tuple(json.loads(found.read_text(encoding="utf-8"))))

    def _say(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self._root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


# -- the process of one command ----------------------------------------------------------------


class _Recorder:
    """Writes down which functions of a package are called, each once."""

    def __init__(self, source: str) -> None:
        self._source = source.rstrip(os.sep) + os.sep
        self._seen: set[object] = set()
        self._importing = threading.local()
        self.files: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event not in {"call", "return"} or not code.co_filename.startswith(self._source):
            return
        depth = getattr(self._importing, "depth", 0)
        if code.co_name == "<module>":
            self._importing.depth = depth + (1 if event == "call" else -1)
        elif event == "call" and not depth and code not in self._seen:
            self._seen.add(code)
            if code.co_flags & _OPTIMIZED:
                self.files.append(code.co_filename.removeprefix(self._source))


def _trace(found: str, source: str, arguments: list[str]) -> NoReturn:
    """Run the program; however it ends its process, write down what it walked through first."""
    sys.path.pop(0)  # the folder of this file
    process, end = os.getpid(), os._exit
    recorder = _Recorder(source)

    def ending(status: int) -> NoReturn:
        sys.setprofile(None)
        if os.getpid() == process:
            Path(found).write_text(json.dumps(recorder.files), encoding="utf-8")
        end(status)

    os._exit = ending
    sys.argv = ["planbound", *arguments]
    from planbound.cli.main import entry_point  # noqa: PLC0415 - its path is set up above

    threading.setprofile(recorder)
    sys.setprofile(recorder)
    entry_point()


if __name__ == "__main__":
    _trace(sys.argv[1], sys.argv[2], sys.argv[3:])
