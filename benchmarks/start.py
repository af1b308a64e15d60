"""What a command costs before it does anything: against `python -c pass` in the same run.

Limit: twice the wall time of `python -c pass` plus 100 ms. A goal is so many times that floor; one
that is missed stays in the table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import FloorGoal, outcome, record, side_by_side
from benchmarks.plans import plan_text

SLACK = 0.100
FLOOR = "python -c pass"
VERIFY = "planbound verify (10 steps)"
GOALS = {VERIFY: FloorGoal(6.3, 0.070)}


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = _measure(Path(folder), arguments.rounds)
    floor = times[FLOOR]
    limit = 2 * floor + SLACK
    broken = False
    for name, seconds in times.items():
        over = name.startswith("planbound") and seconds > limit
        broken |= over
        goal = GOALS.get(name)
        told = f" (goal {goal.times} x, {outcome(seconds / floor, goal.times)})" if goal else ""
        print(
            f"{name:30} {seconds * 1000:7.1f} ms, {seconds / floor:4.1f} x the floor"
            f"{told}{'  OVER THE LIMIT' if over else ''}"
        )
    print(f"{'limit (2 x pass + 100 ms)':30} {limit * 1000:7.1f} ms")
    record("start", {**times, "limit": limit})
    return 1 if broken else 0


def _measure(folder: Path, rounds: int) -> dict[str, float]:
    program = str(Path(sys.executable).with_name("planbound"))
    workspace = folder / "workspace"
    for made in (workspace / ".git", workspace / ".harness", folder / "home"):
        made.mkdir(parents=True)
    for name in ("plan.md", ".harness/PLAN-ledgers.md"):
        workspace.joinpath(name).write_text(plan_text(10), encoding="utf-8")
    # As for a user: byte code is kept. Some machines that test software switch that off.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["HOME"] = str(folder / "home")

    def start(*words: str) -> None:
        subprocess.run(
            words, cwd=workspace, check=False, stdout=subprocess.DEVNULL, env=environment
        )

    return side_by_side(
        {
            FLOOR: lambda: start(sys.executable, "-c", "pass"),
            "planbound --version": lambda: start(program, "--version"),
            VERIFY: lambda: start(program, "verify", "plan.md"),
            "planbound list": lambda: start(program, "list"),
            "planbound status": lambda: start(program, "status", "ledgers"),
        },
        rounds,
    )


if __name__ == "__main__":
    sys.exit(main())
