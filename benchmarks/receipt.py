"""Receipts: making one for a plan of 100 steps on a journal of 100,000 events, and checking it.

Both are whole processes. The plan is run for real, behind the events of other plans.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial

from benchmarks.journal import KINDS, event, load
from benchmarks.measure import record, side_by_side
from benchmarks.process import clean_environment, launch
from planbound.journal.record import Draft

STEPS = 100
EVENTS = 100_000
FLOOR = "python -c pass"
MAKE_SECONDS = 1.0
CHECK_SECONDS = 0.3
_HEAD = "---\ntype: plan\nstatus: draft\nowner: bench\n---\n\n# Write all of them\n\n## Steps\n"
_STEP = """
### {number}. Write file {number}

**target:** coder
**touches:**
- src/{number}.txt

**task:**
Write `{number}` to `src/{number}.txt`.

**contract:**
```shell
grep -qx {number} src/{number}.txt
```
"""
_AGENT = """\
[agents.coder]
command = ["sh", "-c", "n=$(grep -o 'src/[0-9]*' | head -n 1 | tr -dc 0-9); echo $n > src/$n.txt"]
"""
_PLANBOUND = [sys.executable, "-m", "planbound"]


def main() -> int:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="planbound-bench-") as folder:
        workspace, environment = prepare(folder, arguments.steps)
        times = measure(workspace, environment, arguments.rounds)
    record("receipt", times)
    for name, value in times.items():
        print(f"{name:24} {value:10.3f}")
    return 0


def prepare(folder: str, steps: int) -> tuple[str, dict[str, str]]:
    """Run a plan behind the events of others; return the workspace and what programs see."""
    workspace, state = os.path.join(folder, "workspace"), os.path.join(folder, "state")
    environment = clean_environment(folder, PLANBOUND_STATE=state)
    os.makedirs(os.path.join(workspace, "src"))
    os.makedirs(state, mode=0o700)
    load(os.path.join(state, "journal.sqlite"), EVENTS, others)
    write(workspace, "src/readme", "files\n")
    write(workspace, "planbound.toml", _AGENT)
    text = _HEAD + "".join(_STEP.format(number=number) for number in range(1, steps + 1))
    write(workspace, ".harness/PLAN-all.md", text)
    write(workspace, ".gitignore", ".harness\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        named = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
        subprocess.run(["git", *named, *words], cwd=workspace, check=True)
    shown = run(workspace, environment, "show", "all", "--json")
    digest = shown.partition('"digest": "')[2][:12]
    run(workspace, environment, "approve", "all", "--digest", digest, "--as", "bench")
    run(workspace, environment, "run", "all")
    return workspace, environment


def others(number: int) -> Draft:
    """Return an event of another plan; none of its run's end, which would tell more."""
    return event(number)._replace(kind=KINDS[number % len(KINDS)][0])


def write(workspace: str, name: str, text: str) -> None:
    """Write a file of the workspace."""
    path = os.path.join(workspace, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run(workspace: str, environment: dict[str, str], *words: str) -> str:
    """Run the program, which has to end well; return what it printed."""
    command = [*_PLANBOUND, *words]
    done = subprocess.run(
        command, cwd=workspace, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(workspace: str, environment: dict[str, str], rounds: int) -> dict[str, float]:
    """Return the seconds of each process, and how large the receipt is."""
    path = os.path.join(os.path.dirname(workspace), "all.receipt.jsonl")
    one_file = os.path.abspath("planbound-check-receipt.py")
    commands = {
        FLOOR: [sys.executable, "-c", "pass"],
        "make": [*_PLANBOUND, "receipt", "all", "-o", path],
        "check": [*_PLANBOUND, "check-receipt", path],
        "check, one file": [sys.executable, one_file, path],
    }

    contestants: dict[str, Callable[[], object]] = {
        name: partial(launch, command, workspace, environment) for name, command in commands.items()
    }
    times = side_by_side(contestants, rounds)
    with open(path, "rb") as file:
        data = file.read()
    return times | {"bytes": len(data), "bytes of line 1": len(data.split(b"\n")[0])}


if __name__ == "__main__":
    sys.exit(main())
