"""What a command costs before it does anything: against `python -c pass` in the same run.

Limit: twice the wall time of `python -c pass` plus 100 ms.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import record, side_by_side
from benchmarks.plans import plan_text

SLACK = 0.100


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    program = str(Path(sys.executable).with_name("planbound"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "plan.md").write_text(plan_text(10), encoding="utf-8")

        # As for a user: byte code is kept. Some machines that test software switch that off.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

        def start(*words: str) -> None:
            subprocess.run(
                words, cwd=folder, check=False, stdout=subprocess.DEVNULL, env=environment
            )

        times = side_by_side(
            {
                "python -c pass": lambda: start(sys.executable, "-c", "pass"),
                "planbound --version": lambda: start(program, "--version"),
                "planbound verify (10 steps)": lambda: start(program, "verify", "plan.md"),
            },
            arguments.rounds,
        )
    limit = 2 * times["python -c pass"] + SLACK
    broken = False
    for name, seconds in times.items():
        over = name.startswith("planbound") and seconds > limit
        broken |= over
        print(f"{name:30} {seconds * 1000:7.1f} ms{'  OVER THE LIMIT' if over else ''}")
    print(f"{'limit (2 x pass + 100 ms)':30} {limit * 1000:7.1f} ms")
    record("start", {**times, "limit": limit})
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
