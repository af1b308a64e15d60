"""Judging a suite of 15 seconds with all evidence, beside the bare test command.

Two suites of thirty tests: one that waits half of its time, as suites do that start programs, ask
a database or sleep until something is there, and one that only computes. Each is run by itself,
judged at `E2`, with all evidence, and with all evidence one run after the other (`jobs = 1`), on
two cores and on one.

Limits: with all evidence at most 1.15 times the bare command on two cores, 1.5 times on one. They
hold for the suite that waits. One that only computes has three runs to make: its own, one with
failing tests, one with other expected values. That is 1.5 times on two cores and 3 on one at best;
docs/decisions/058 says why two of them are not made one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks.judge import PYTEST, judge_once, make_project, prepare
from benchmarks.measure import record
from planbound.judging.context import judging_context
from planbound.workspace.context import Context

COUNT = 30
SUITES = {"waits": 0.5, "computes": 1.0}
"""By suite how much of its time it computes."""
WAYS = {"E2": "canary = false", "all": "", "all in turn": "jobs = 1"}
LIMITS = {2: 1.15, 1: 1.5}
"""By the number of cores how many times as long as the bare command all evidence may take."""
_TESTS = """\
import time

import pytest
from calc import double


@pytest.mark.parametrize("number", range({count}))
def test_double(number):
    end = time.process_time() + {computes}
    while time.process_time() < end:
        sum(range(1000))
    time.sleep({waits})
    assert double(number) == number + number
"""


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="how long a suite takes")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    values = {"seconds": given.seconds}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = os.path.join(folder, "home")
        for suite, share in SUITES.items():
            ways = prepared(os.path.join(folder, suite), given.seconds, share)
            for cores in LIMITS:
                if cores <= len(os.sched_getaffinity(0)):
                    with bound(cores):
                        values |= measured(f"{suite} {cores}", ways, given.rounds)
    record("suite", values)
    return report(values)


def prepared(folder: str, seconds: float, share: float) -> dict[str, Callable[[], object]]:
    """Return what runs and judges a suite, by its name."""
    each = seconds / COUNT
    tests = _TESTS.format(count=COUNT, computes=each * share, waits=each * (1 - share))
    ways: dict[str, Callable[[], object]] = {}
    for name, rules in WAYS.items():
        root = os.path.join(folder, name.replace(" ", "-"))
        make_project(root, rules)
        with open(os.path.join(root, "tests", "test_calc.py"), "w", encoding="utf-8") as file:
            file.write(tests)
        judging = judging_context(Context(workspace=root))
        found, setting, _ = prepare(judging, PYTEST)
        ways[name] = partial(judge_once, judging, found, setting)
    bare = partial(subprocess.run, PYTEST.split(), cwd=root, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        [*PYTEST.split(), "--collect-only"], cwd=root, check=True, stdout=subprocess.DEVNULL
    )
    return {"bare": bare, **ways}


@contextmanager
def bound(cores: int) -> Iterator[None]:
    """Have only so many cores, here and for what is started."""
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(every)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def measured(name: str, ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the best seconds of each: a suite takes long, and noise only adds."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for way, run in ways.items():
            start = time.perf_counter()
            run()
            seconds = time.perf_counter() - start
            best[f"{name} {way}"] = min(seconds, best.get(f"{name} {way}", seconds))
    return best


def report(values: dict[str, float]) -> int:
    """Print the numbers and what is over its limit."""
    broken = 0
    for suite in SUITES:
        for cores, limit in LIMITS.items():
            bare = values.get(f"{suite} {cores} bare")
            if bare is None:
                continue
            print(f"a suite that {suite}, {cores} core{'s' * (cores > 1)}: {bare:.2f} s")
            for way in WAYS:
                ratio = values[f"{suite} {cores} {way}"] / bare
                is_limited = way == "all"
                over = is_limited and ratio > limit
                said = f" (limit {limit} x){'  OVER' if over else ''}" if is_limited else ""
                print(f"  judged, {way:12} {ratio:6.2f} x{said}")
                broken += over and suite == "waits"
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
