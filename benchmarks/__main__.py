"""Runs the benchmarks one after the other, and writes the pages.

A goal that is missed is a row that says so, and stops nothing. A limit that is broken, and a
benchmark that comes to no numbers, are told at the end and make the exit code 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import table
from benchmarks.measure import RESULTS, cores, read, stamp, write

BENCHMARKS = (
    "start",
    "hook",
    "plan",
    "journal",
    "database",
    "fold",
    "receipt",
    "page",
    "manifest",
    "judge",
    "step",
    "life",
    "suite",
    "run",
    "fleet",
)
BUSY = 0.5
"""More work than this for each core, and the machine is not quiet."""

Run = Callable[[str], int]


def main(argv: list[str] | None = None) -> int:
    """Measure, write the pages, and say what is wrong; 1 where something is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="only these; all others keep their numbers: " + ", ".join(BENCHMARKS),
    )
    names = parser.parse_args(argv).names
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    load = os.getloadavg()[0]
    if load > BUSY * cores():
        print(f"this machine is busy (load {load:.1f}): the numbers will be too high", flush=True)
    begin = time.monotonic()
    wrong = measure(names)
    table.main([])
    print(f"\nin all: {(time.monotonic() - begin) / 60:.1f} minutes")
    for each in wrong:
        print(each)
    return 1 if wrong else 0


def measure(names: Sequence[str], run: Run | None = None, path: Path = RESULTS) -> list[str]:
    """Run these benchmarks, or all of them; return what is wrong in sentences."""
    run = run or start_process
    begin = time.monotonic()
    before = read(path) if names else {}
    write(before, path)
    wrong = []
    chosen = [name for name in BENCHMARKS if name in names or not names]
    for number, name in enumerate(chosen, 1):
        print(f"\n== {name} ({number} of {len(chosen)})", flush=True)
        results = read(path)
        results.pop(name, None)
        write(results, path)
        begun = time.monotonic()
        code = run(name)
        print(f"-- {name}: {time.monotonic() - begun:.0f} s", flush=True)
        results = read(path)
        if name not in results:
            wrong.append(f"{name}: ended with {code} before it had its numbers")
            if name in before:
                write(results | {name: before[name]}, path)
        elif code:
            wrong.append(f"{name}: a limit is broken")
    if not names:
        stamp((time.monotonic() - begin) / 60, path)
    return wrong


def start_process(name: str) -> int:
    """Run one benchmark in a process of its own; return its exit code."""
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
