"""Prefect: a flow of one task for each step, whose results are kept so that a rerun skips them.

The server that it starts by itself uses a database that an earlier run made, so creating the
tables is not part of what is measured.
"""

from __future__ import annotations

import sys

from prefect import flow, task
from prefect.cache_policies import INPUTS

from benchmarks.peers.stopwatch import Stopwatch


def main(steps: int, folder: str) -> None:
    """Run the steps."""
    watch = Stopwatch()

    def work(number: int, plan: str) -> int:
        del plan  # part of the key under which the result is kept
        watch.step()
        return number

    step = task(work, persist_result=True, cache_policy=INPUTS)

    def run() -> None:
        for number in range(steps):
            step(number, folder)

    flow(run, name="plan")()
    watch.stop()
    watch.write(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
