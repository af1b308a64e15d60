"""The storm: 100 plans of 5 steps over 4 workers, one of which is killed every few seconds.

`python -m tests.run.dbos.storm`, or `make storm`; takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.journal.conftest import serve_postgres
from tests.run.dbos.databases import new_database
from tests.run.dbos.fleet import Fleet

CONCURRENCY = 3
AGENT_SECONDS = 1.0


def main() -> int:
    """Raise the storm, and look what is left; print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=100)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--every", type=float, default=3.0, help="seconds between two kills")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storm-") as folder, serve_postgres() as server:
        fleet = Fleet(Path(folder), address=new_database(server))
        fleet.let_agents_take(AGENT_SECONDS)
        begun = time.monotonic()
        fleet.submit_many(arguments.plans, arguments.steps)
        submitted = time.monotonic()
        print(f"{arguments.plans} plans submitted in {submitted - begun:.0f} s", flush=True)
        kills = fleet.storm(
            arguments.workers,
            *("--concurrency", str(CONCURRENCY)),
            every=arguments.every,
            seconds=3600,
        )
        over = time.monotonic()
        fleet.check(arguments.steps)
        report(fleet, kills, over - submitted)
        fleet.journal.close()
    return 0


def report(fleet: Fleet, kills: int, seconds: float) -> None:
    """Print what happened."""
    log = fleet.log()
    started = len(log.of("TASK_STARTED"))
    endings = Counter(event["ending"] for event in log.of("ATTEMPT_ENDED"))
    print(f"{len(fleet.plans)} plans proved in {seconds:.0f} s, {kills} kills")
    print(f"{len(log)} events, {started} attempts, {len(fleet.calls())} calls of an agent")
    print(f"endings of attempts: {dict(endings)}")
    print(f"takeovers: {len(log.of('EXECUTION_STARTED', resumed=True))}")


if __name__ == "__main__":
    sys.exit(main())
