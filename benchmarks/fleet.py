"""`planbound fleet` and what is around it, beside the bare tools that do the same work.

Ten plans of three steps whose agents sleep for a second, four at once, against `xargs -P 4` of the
same agents: each plan in a worktree of its own, every step judged in a cell. Limit: 1.5 times;
goal: 1.15.

On a repository of 10,000 files: `planbound spawn` against `git worktree add`, and `planbound
integrate` of one plan against `git merge --no-ff` and the contract itself. They make, check and
record more than git does; what that adds is shown. The checkout in which merges are judged is made
by the first and taken over by the others. Limits: 1 s and 3 s more; goal of a merge: 0.5 s.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

from benchmarks.measure import record
from benchmarks.process import broken, clean_environment
from benchmarks.rig import PROGRAM

FLEET, XARGS = "planbound fleet", "xargs -P"
SPAWN, ADD = "planbound spawn", "git worktree add"
INTEGRATE, MERGE = "planbound integrate", "git merge and contract"
TIMES = 1.5
SPAWN_SLACK = 1.0
INTEGRATE_SLACK = 3.0
TIMES_GOAL = 1.15
INTEGRATE_GOAL = 0.5
_WHO = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
_CONTRACT = "test -s {file}"
_PLAN = """\
---
type: plan
status: draft
owner: bench
touches: ["work/{name}/**"]
---

# Write what {name} is to write

**Budget:** 1h wall clock

## Steps
"""
_STEP = """
### {number}. Write part {number} of {name}

**target:** coder
**touches:**
- {file}

**task:** Write the word `right` into the file `{file}`, and change nothing else.

**contract:**
```shell
{contract}
```
exit_code == 0
"""
# An agent does what the last words of its prompt's title say.
_AGENT = """\
#!/bin/bash
read -r _ _ part number _ name
sleep {seconds}
mkdir -p work/"$name" && echo right > work/"$name"/"$number"
"""


class Yard:
    """A new repository with a state home of its own, and plans that are approved."""

    def __init__(self, *, files: int, plans: int, steps: int, seconds: float) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="planbound-bench-")
        self.folder = Path(self._folder.name).resolve()
        self.root = self.folder / "repository"
        self._environment = clean_environment(
            str(self.folder), PLANBOUND_STATE=str(self.folder / "state")
        )
        self.names = [f"plan-{number}" for number in range(plans)]
        (self.root / ".harness").mkdir(parents=True)
        self._agent(seconds)
        for name in self.names:
            text = _PLAN.format(name=name) + "".join(
                _STEP.format(
                    number=number, name=name, file=file, contract=_CONTRACT.format(file=file)
                )
                for number, file in self.files(name, steps)
            )
            (self.root / ".harness" / f"PLAN-{name}.md").write_text(text, encoding="utf-8")
        for number in range(files):
            file = self.root / "src" / f"{number % 100}" / f"{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"file {number}\n" * 20, encoding="utf-8")
        self.say("git", "init", "--quiet", "--initial-branch", "main")
        (self.root / ".gitignore").write_text(".harness/\n", encoding="utf-8")
        self.say("git", "add", ".")
        self.say("git", *_WHO, "commit", "--quiet", "--message", "begin")
        for name in self.names:
            digest = json.loads(self.say(PROGRAM, "show", name, "--json"))["digest"]
            self.say(PROGRAM, "approve", name, "--digest", digest[:12], "--as", "bench")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    @staticmethod
    def files(name: str, steps: int) -> list[tuple[int, str]]:
        """Return which step of a plan writes which file."""
        return [(number, f"work/{name}/{number}") for number in range(1, steps + 1)]

    def _agent(self, seconds: float) -> None:
        agent = self.folder / "agent"
        agent.write_text(_AGENT.format(seconds=seconds), encoding="utf-8")
        agent.chmod(0o755)
        settings = f'[agents.coder]\nkind = "command"\ncommand = ["{agent}"]\n'
        (self.root / "planbound.toml").write_text(settings, encoding="utf-8")

    def say(self, *command: str) -> bytes:
        """Run a program to its good end; return what it said."""
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            broken([*command], done.returncode, done.stdout + done.stderr)
        return done.stdout

    def timed(self, *command: str) -> float:
        """Return how long a program takes."""
        start = time.perf_counter()
        self.say(*command)
        return time.perf_counter() - start


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small and once; not recorded")
    arguments = parser.parse_args()
    quick = arguments.quick
    values = fleets(plans=4 if quick else 10, jobs=4)
    values |= costs(files=500 if quick else 10_000, rounds=1 if quick else 5)
    if not quick:
        record("fleet", values)
    return report(values)


def fleets(*, plans: int, jobs: int) -> dict[str, float]:
    """Return how long all plans take together, and how long their agents take alone."""
    steps = 3
    with Yard(files=100, plans=plans, steps=steps, seconds=1) as yard:
        agent = shlex.quote(str(yard.folder / "agent"))
        plain = [
            " && ".join(
                f"echo '# Write part {number} of {name}' | {agent} && {_CONTRACT.format(file=file)}"
                for number, file in yard.files(name, steps)
            )
            for name in yard.names
        ]
        lines = yard.folder / "lines"
        lines.write_text("\0".join(plain), encoding="utf-8")
        floor = yard.timed(
            "xargs", "-0", "-a", str(lines), "-P", str(jobs), "-n", "1", "bash", "-c"
        )
        yard.say("rm", "-r", "work")
        took = yard.timed(PROGRAM, "fleet", "--jobs", str(jobs), "--json")
    return {FLEET: took, XARGS: floor, "plans": plans, "steps": steps, "jobs": jobs}


def costs(*, files: int, rounds: int) -> dict[str, float]:
    """Return what a worktree and a merge cost, each with what git takes for it."""
    times: dict[str, list[float]] = {name: [] for name in (SPAWN, ADD, INTEGRATE, MERGE)}
    with Yard(files=files, plans=rounds, steps=1, seconds=0) as yard:
        for place, name in enumerate(yard.names):
            plain = str(yard.folder / "plain" / name)
            making = [
                (ADD, ("git", "worktree", "add", "-q", "-b", name, plain)),
                (SPAWN, (PROGRAM, "spawn", name)),
            ]
            # Whoever is second finds the objects in memory: they take turns.
            for what, command in making if place % 2 else reversed(making):
                times[what].append(yard.timed(*command))
            yard.say(PROGRAM, "run", name, "--no-input")
            _work(yard, name, plain)
            # Git's merge goes first, and is taken back: both begin with the same tree.
            before = yard.say("git", "rev-parse", "HEAD").decode().strip()
            [(_, file)] = yard.files(name, 1)
            merge = yard.timed("git", *_WHO, "merge", "-q", "--no-ff", "-m", "merge", name)
            contract = yard.timed("bash", "-c", _CONTRACT.format(file=file))
            times[MERGE].append(merge + contract)
            yard.say("git", "reset", "--quiet", "--hard", before)
            times[INTEGRATE].append(yard.timed(PROGRAM, "integrate", name))
    return {name: statistics.median(found) for name, found in times.items()} | {"files": files}


def _work(yard: Yard, name: str, folder: str) -> None:
    """Do by hand what the plan does, in a worktree that git made."""
    for _, file in yard.files(name, 1):
        os.makedirs(os.path.dirname(os.path.join(folder, file)))
        Path(folder, file).write_text("right\n", encoding="utf-8")
    yard.say("git", "-C", folder, "add", ".")
    yard.say("git", "-C", folder, *_WHO, "commit", "--quiet", "--message", name)


def report(values: dict[str, float]) -> int:
    """Print the numbers, and which are over their limit."""
    plans, jobs = int(values["plans"]), int(values["jobs"])
    ratio = values[FLEET] / values[XARGS]
    print(f"{plans} plans of 3 steps of 1 s, {jobs} at once")
    print(f"  {XARGS} {jobs}: {values[XARGS]:.2f} s; {FLEET}: {values[FLEET]:.2f} s")
    over = _line("  fleet to xargs", ratio, TIMES)
    print(f"a repository of {int(values['files']):,} files")
    for ours, theirs, slack in ((SPAWN, ADD, SPAWN_SLACK), (INTEGRATE, MERGE, INTEGRATE_SLACK)):
        print(f"  {theirs}: {values[theirs]:.3f} s; {ours}: {values[ours]:.3f} s")
        over |= _line(f"  {ours} adds, s", values[ours] - values[theirs], slack)
    return 1 if over else 0


def _line(name: str, value: float, limit: float) -> bool:
    over = value > limit
    print(f"{name:34} {value:8.2f} (limit {limit:g}){'  OVER' if over else ''}")
    return over


if __name__ == "__main__":
    sys.exit(main())
