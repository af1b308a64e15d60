"""DBOS on SQLite: a workflow in which every step is one durable step.

The database is in WAL mode with `synchronous = FULL`, which is faster than what DBOS ships and as
safe.
"""

from __future__ import annotations

import os
import sqlite3
import sys

from dbos import DBOS
from sqlalchemy import create_engine, event

from benchmarks.peers.stopwatch import Stopwatch


def main(steps: int, folder: str) -> None:
    """Run the steps."""
    path = os.path.join(folder, "dbos.db")
    engine = create_engine(f"sqlite:///{path}")
    event.listen(engine, "connect", durable)
    DBOS(
        config={
            "name": "peer",
            "system_database_url": f"sqlite:///{path}",
            "system_database_engine": engine,
            "console_log_level": "ERROR",
        }
    )
    watch = Stopwatch()

    def work() -> None:
        watch.step()

    step = DBOS.step(name="step")(work)

    def run() -> None:
        for _ in range(steps):
            step()

    workflow = DBOS.workflow(name="plan")(run)
    DBOS.launch()
    workflow()
    watch.stop()
    watch.write(folder)


def durable(connection: sqlite3.Connection, _: object) -> None:
    """Make a new connection sync at each commit, and write ahead."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
    sys.stdout.flush()
    os._exit(0)  # taking the threads of DBOS down takes a second that nobody measures
