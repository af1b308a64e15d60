"""Measuring side by side: all contestants in turn, the median of many rounds; and what is kept."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).with_name("results.json")
"""What was measured last; the README's table and the performance page are made from it."""


class FloorGoal(NamedTuple):
    """A goal of a whole process: so many times `python -c pass`, since machines differ."""

    times: float
    seconds: float
    """What that is where `python -c pass` takes 11 ms."""


def side_by_side(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each, measured in turns so that noise hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()  # warm caches, write byte code
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def outcome(value: float, goal: float) -> str:
    """Say whether a goal is met; one that is missed breaks nothing."""
    return "missed" if value > goal else "met"


# -- what is kept ------------------------------------------------------------------------------


def read(path: Path = RESULTS) -> dict[str, Any]:
    """Return the numbers of every benchmark, by its name."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write(results: Mapping[str, object], path: Path = RESULTS) -> None:
    """Keep all numbers."""
    path.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def record(section: str, values: Mapping[str, float], path: Path = RESULTS) -> None:
    """Keep the numbers of one benchmark for the pages; now they are no longer of one run."""
    results = read(path)
    results.pop("measured", None)
    results[section] = {name: round(value, 6) for name, value in values.items()}
    write(results, path)


def stamp(minutes: float, path: Path = RESULTS) -> None:
    """Say when and where all numbers were measured in one run."""
    when = {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": cores(),
        "minutes": round(minutes, 1),
    }
    write(read(path) | {"measured": when}, path)


def cores() -> int:
    """Return how many cores there are to measure on."""
    return len(os.sched_getaffinity(0))
