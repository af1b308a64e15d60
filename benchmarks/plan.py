"""Parsing and verifying plans of 10 to 5,000 steps.

Limits: the cost per step is flat (within 1.5 times from 100 to 5,000 steps); a plan of 1,000
steps parses in at most 10 times what markdown-it-py alone needs to tokenize it, and verifies,
shell syntax included, in under one second.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable
from functools import partial

from markdown_it import MarkdownIt

from benchmarks.measure import record, side_by_side
from benchmarks.plans import plan_text
from planbound.plan.parse import parse
from planbound.workspace.context import Context
from planbound.workspace.surroundings import verify

SIZES = (10, 100, 1000, 5000)
FLAT = 1.5
TIMES_TOKENIZER = 10
SECONDS = 1.0


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    gc.disable()  # as the program does
    texts = {size: plan_text(size).encode() for size in SIZES}
    tokenizer = MarkdownIt()
    with tempfile.TemporaryDirectory() as folder:
        surroundings = Context(workspace=folder).surroundings()

        def examine(data: bytes) -> None:
            verify(data, path="plan.md", surroundings=surroundings)

        times: dict[str, float] = {}
        for size in SIZES:
            data = texts[size]
            contestants: dict[str, Callable[[], object]] = {
                f"parse {size}": partial(parse, data),
                f"verify {size}": partial(examine, data),
            }
            if size == 1000:
                contestants["markdown-it-py 1000"] = partial(tokenizer.parse, data.decode())
            times |= side_by_side(contestants, rounds)
    record("plan", times)
    return report(times)


def report(times: dict[str, float]) -> int:
    """Print the numbers and what is over its limit."""
    for name, seconds in times.items():
        size = int(name.split()[1])
        print(f"{name:22} {seconds * 1000:9.2f} ms   {seconds / size * 1e6:7.1f} µs a step")
    checks = {
        f"cost per step, {kind} (5,000 against 100)": (
            times[f"{kind} 5000"] / 50 / times[f"{kind} 100"],
            FLAT,
        )
        for kind in ("parse", "verify")
    }
    checks["parse of 1,000 against markdown-it-py alone"] = (
        times["parse 1000"] / times["markdown-it-py 1000"],
        TIMES_TOKENIZER,
    )
    checks["verify of 1,000 in seconds"] = (times["verify 1000"], SECONDS)
    for name, (value, limit) in checks.items():
        print(f"{name:46} {value:6.2f} (limit {limit}){'  OVER' if value > limit else ''}")
    return 1 if any(value > limit for value, limit in checks.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
