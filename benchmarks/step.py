"""A whole step of `planbound run` that changes one file, in trees of up to 100,000 files.

Its agent and its contract are a shell each that does next to nothing, in cells, judged at `E2`. The
files are committed. What a step takes is the difference between a long plan and a short one,
divided by the steps between them. So the start of the program is not in it, and everything else is:
since each step changes the tree, its contract runs before the work, after it, and once more when
the plan ends. The first step of a plan is measured beside it, from its beginning to its verdict:
its baseline is known from the approval, so it is one agent and one contract.

Goals: 20, 45 and 350 ms with 100, 10,000 and 100,000 files, and 150 MB. Limit: 350 MB.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from datetime import datetime
from functools import partial
from typing import NamedTuple

from benchmarks.manifest import generate
from benchmarks.measure import outcome, record
from benchmarks.process import Launch, clean_environment
from benchmarks.rig import CELL, Rig
from planbound.workspace.stamps import WINDOW

BYTES = 2_500
"""How many each file has on average."""
GOALS = {100: 0.020, 10_000: 0.045, 100_000: 0.350}
MEGABYTES, MEGABYTES_GOAL = 350.0, 150.0
AGENT = 'read -r _ _ _ number _ name; echo "$name $number" > tree/part0/unit0/module_$number.py'
"""Does what the title says, which is the first line of its prompt."""
_HEAD = """\
---
type: plan
status: draft
owner: bench
touches: ["tree/**"]
---

# Write into files of the tree for {name}

**Budget:** 2h wall clock

## Steps

"""
_STEP = """\
### {number}. Write part {number} of {name}

**target:** coder
**baseline:** any
**task:** Write the words `{name} {number}` into `tree/part0/unit0/module_{number}.py`.

**contract:**
```shell
test -s tree/part0/unit0/module_{number}.py
```
exit_code == 0

"""


class Lengths(NamedTuple):
    """How much is measured on a tree: steps of both plans, and how often."""

    short: int
    long: int
    rounds: int


FULL = {100: Lengths(10, 40, 5), 10_000: Lengths(2, 12, 3), 100_000: Lengths(1, 4, 3)}
QUICK = {100: Lengths(1, 3, 1), 1_000: Lengths(1, 2, 1)}


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small and once; not recorded")
    quick = parser.parse_args().quick
    values: dict[str, float] = {}
    for count, size in (QUICK if quick else FULL).items():
        values |= measure(count, size)
    if not quick:
        record("step", values)
    return report(values)


def measure(count: int, size: Lengths) -> dict[str, float]:
    """Return what a step takes on a tree of so many files, and the most memory of a run."""
    steps, firsts, runs = [], [], []
    fill = partial(commit, count=count)
    with Rig(CELL, plan_text("bench", size.short), fill, coder=AGENT) as rig:
        rig.run()  # warm caches
        for number in range(size.rounds):
            short, long = f"short-{number}", f"long-{number}"
            few, many = run(rig, short, size.short), run(rig, long, size.long)
            steps.append((many.seconds - few.seconds) / (size.long - size.short))
            firsts += [first_step(rig, short), first_step(rig, long)]
            runs.append(many)
    return {
        f"step {count}": statistics.median(steps),
        f"first step {count}": statistics.median(firsts),
        f"megabytes {count}": max(each.megabytes for each in runs),
    }


def commit(root: str, count: int) -> None:
    """Make a repository of so many files."""
    generate(os.path.join(root, "tree"), count, BYTES)
    with open(os.path.join(root, ".gitignore"), "w", encoding="utf-8") as file:
        file.write(".harness/\n")
    environment = clean_environment(os.path.dirname(root))
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    # One pack, as a clone has it, and not a file for each object.
    packed = ("-c", "core.bigFileThreshold=1", "-c", "core.compression=0")
    for words in (
        ("init", "--quiet"),
        (*packed, "add", "."),
        (*who, "commit", "--quiet", "--message", "begin"),
    ):
        subprocess.run(["git", *words], cwd=root, env=environment, check=True)
    os.sync()  # or the disk is still busy with what was written
    time.sleep(WINDOW / 10**9 + 0.1)  # what is younger is read again


def run(rig: Rig, name: str, steps: int) -> Launch:
    """Approve a new plan of so many steps, and run it to its end."""
    rig.approve(name, plan_text(name, steps))
    return rig.run(plan=name)


def plan_text(name: str, steps: int) -> str:
    """Return a plan whose steps write into a file each."""
    return _HEAD.format(name=name) + "".join(
        _STEP.format(number=number, name=name) for number in range(1, steps + 1)
    )


def first_step(rig: Rig, name: str) -> float:
    """Return how long the first step took, from its beginning to its verdict, by the journal."""
    events = [
        event for event in rig.events(name) if event["task_name"] == f"Write part 1 of {name}"
    ]
    at = {event["event"]: datetime.fromisoformat(event["timestamp"]) for event in events}
    levels = {
        event["details"]["evidence"]
        for event in events
        if event["event"] in {"BASELINE_OBSERVED", "CONTRACT_EVALUATED"}
    }
    if levels != {"E2"}:
        sys.exit(f"judged at {levels}, so this is not the step that was to be measured")
    return (at["TASK_COMPLETED"] - at["TASK_STARTED"]).total_seconds()


def report(values: dict[str, float]) -> int:
    """Print the numbers, which goals are missed, and what is over its limit."""
    broken = False
    for name, value in values.items():
        kind, _, count = name.rpartition(" ")
        said = ""
        if kind == "step" and (goal := GOALS.get(int(count))):
            said = f" (goal {goal * 1000:g}, {outcome(value, goal)})"
        elif kind == "megabytes":
            over = value > MEGABYTES
            broken |= over
            said = f" (goal {MEGABYTES_GOAL:g}, {outcome(value, MEGABYTES_GOAL)};"
            said += f" limit {MEGABYTES:g}{'  OVER' if over else ''})"
        shown = f"{value:8.0f} MB" if kind == "megabytes" else f"{value * 1000:8.1f} ms"
        print(f"{kind:12} {int(count):8,} files {shown}{said}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
