"""Measuring side by side: all contestants in turn, the median of many rounds."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

RESULTS = Path(__file__).with_name("results.json")
"""What was measured last; the README's table and the performance page are made from it."""


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


def record(section: str, values: dict[str, float]) -> None:
    """Keep the numbers of one benchmark for the pages."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    results[section] = {name: round(value, 6) for name, value in values.items()}
    RESULTS.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n", encoding="utf-8")
