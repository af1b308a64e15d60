"""The life of a plan without a failure, beside one bare run of its contract.

A plan of one step, whose suite is also its postcondition: looked at, approved, run to its end. And
one of three steps and a postcondition, each with a contract of its own; each step changes a file.
Goals: a contract runs twice, once red and once green, in both plans; the yes after a look that
changed nothing runs nothing, and takes less than 0.3 seconds. Limits: two runs in the plan of one
step, and a second for the yes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import outcome, record
from benchmarks.process import broken, clean_environment
from benchmarks.rig import PROGRAM

RUNS, YES = 2, 0.300
YES_LIMIT = 1.0
JUDGED = {"BASELINE_OBSERVED", "CONTRACT_EVALUATED"}
ANOTHER = "head -c 9 /dev/urandom | base64; "
"""Each run of a contract prints something else."""
SUITE = f"{ANOTHER}sleep 2; grep -qx right src/1"
_HEAD = """\
---
type: plan
status: draft
owner: bench
touches: ["src/**"]
---

# Answer rightly

## Steps
"""
_STEP = """
### {number}. Write answer {number}

**target:** coder
**task:** Write the one word `right` to the file `src/{number}`, and nothing else.

**contract:**
```shell
{contract}
```
"""
_END = """
## Postconditions

1. The answers are right
   ```shell
   {contract}
   ```
"""
AGENT = """\
[agents.coder]
kind = "command"
command = ["/bin/sh", "-c", "read -r _ _ _ number; echo right > src/$number"]
"""


class Life(NamedTuple):
    """What a plan took from its first look to its end."""

    bare: float
    look: float
    yes: float
    run: float
    runs: list[int]
    """How often each of its contracts ran, the postcondition's among them."""


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    lives = [one_step() for _ in range(parser.parse_args().rounds)]
    values = {
        "bare": statistics.median(life.bare for life in lives),
        "approve, a look": statistics.median(life.look for life in lives),
        "approve, the yes": statistics.median(life.yes for life in lives),
        "run": statistics.median(life.run for life in lives),
        "whole": statistics.median(life.look + life.yes + life.run for life in lives),
        "runs": max(max(life.runs) for life in lives),
    }
    three = three_steps().runs
    values |= {"runs of three": max(three), "fewest runs of three": min(three)}
    record("life", values)
    return report(values)


def one_step() -> Life:
    """Take a plan of one step through its life; its postcondition has the same contract."""
    return live(SUITE, SUITE)


def three_steps() -> Life:
    """Take a plan of three steps through its life; all have contracts of their own."""
    steps = [f"{ANOTHER}grep -qx right src/{number}" for number in (1, 2, 3)]
    return live(*steps, f"{ANOTHER}cat src/1 src/2 src/3; ! grep wrong src/1 src/2 src/3")


def live(*contracts: str) -> Life:
    """Take one plan through its life; the last contract is its postcondition's."""
    *steps, end = contracts
    plan = "".join(
        _STEP.format(number=number, contract=contract) for number, contract in enumerate(steps, 1)
    )
    with tempfile.TemporaryDirectory(prefix="planbound-bench-") as folder:
        root = Path(folder, "repository")
        environment = clean_environment(folder, PLANBOUND_STATE=str(Path(folder, "state")))
        for name, text in {
            ".harness/PLAN.md": _HEAD + plan + _END.format(contract=end),
            "planbound.toml": AGENT,
            **{f"src/{number}": "wrong\n" for number in range(1, len(steps) + 1)},
        }.items():
            root.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
            root.joinpath(name).write_text(text, encoding="utf-8")

        def say(*command: str, code: int = 0) -> tuple[float, bytes]:
            start = time.perf_counter()
            done = subprocess.run(
                command,
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            if done.returncode != code:
                broken([*command], done.returncode, done.stdout + done.stderr)
            return time.perf_counter() - start, done.stdout

        say("git", "init", "--quiet")
        bare, _ = say("bash", "-c", steps[0], code=1)
        look, _ = say(PROGRAM, "approve", "PLAN", code=4)
        digest = json.loads(say(PROGRAM, "show", "PLAN", "--json")[1])["digest"]
        yes, _ = say(PROGRAM, "approve", "PLAN", "--digest", digest[:12], "--as", "bench")
        run, _ = say(PROGRAM, "run", "PLAN")
        printed: dict[str, set[str]] = defaultdict(set)
        for line in say(PROGRAM, "log", "PLAN", "--json")[1].splitlines():
            event = json.loads(line)
            if event["event"] in JUDGED:
                printed[event["details"]["contract"]].add(event["details"]["output_digest"])
        return Life(bare, look, yes, run, [len(each) for each in printed.values()])


def report(values: dict[str, float]) -> int:
    """Print the numbers, which goals are missed, and what is over its limit."""
    for name, value in values.items():
        print(f"{name:24} {value:7.3f}")
    for name, goal in (("approve, the yes", YES), ("runs", RUNS), ("runs of three", RUNS)):
        print(f"{name:24} goal {goal:g}, {outcome(values[name], goal)}")
    broken = values["runs"] > RUNS or values["approve, the yes"] > YES_LIMIT
    print(f"limits: {RUNS} runs, the yes in {YES_LIMIT:g} s{'  OVER' if broken else ''}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
