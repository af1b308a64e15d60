"""For orientation: the plain loop that commits a record before each step and one after it.

SQLite in WAL mode with `synchronous = FULL`: each commit is on the disk before the next line runs.
"""

from __future__ import annotations

import os
import sqlite3
import sys

from benchmarks.peers.stopwatch import Stopwatch


def main(steps: int, folder: str) -> None:
    """Run the steps, two records each."""
    database = sqlite3.connect(os.path.join(folder, "journal.db"), isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE journal (seq INTEGER PRIMARY KEY, step, event)")
    insert = "INSERT INTO journal (step, event) VALUES (?, ?)"
    watch = Stopwatch()
    for number in range(steps):
        database.execute(insert, (number, "started"))
        watch.step()
        database.execute(insert, (number, "completed"))
    watch.stop()
    database.close()
    watch.write(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
