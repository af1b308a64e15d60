"""The journal on SQLite: appending, asking and checking.

Limits: appending with fsync reaches at least 0.7 of a bare loop of SQLite commits in the same run,
which writes the same rows and keeps the same indexes; a question by task, plan, event or time to
1,000,000 events takes under 50 ms; the chain of them is verified in under 15 seconds, in memory
that does not grow with them.

A second bare loop, which writes one text without any index, is measured for comparison: it is as
fast as this disk syncs, and what an append takes beyond it is Python's time.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from benchmarks.measure import record, side_by_side
from planbound.journal.chain import link, verify
from planbound.journal.event import EVENTS, EventKind
from planbound.journal.record import GENESIS, Details, Draft, Head, Json, Query, Record, encode
from planbound.journal.sql import COLUMNS, insert, to_row
from planbound.journal.sqlite import DIALECT, SqliteJournal

OF_BARE = 0.7
QUERY_MILLISECONDS = 50.0
VERIFY_SECONDS = 15.0
GROWTH_MEGABYTES = 16.0

APPENDS = 300  # in each round
STEPS = 100  # in each plan
KINDS: tuple[tuple[EventKind, dict[str, Json]], ...] = (
    (EventKind.TASK_STARTED, {"attempt": 1, "agent": "coder-1"}),
    (EventKind.BASELINE_OBSERVED, {"verdict": "fail", "exit_code": 1, "attempt": 1}),
    (EventKind.CONTRACT_EVALUATED, {"verdict": "fail", "exit_code": 1, "output_tail": "1 failed"}),
    (EventKind.FAILURE_DETECTED, {"error_message": "the total is off by a cent", "attempt": 1}),
    (EventKind.FAILURE_CLASSIFIED, {"failure_type": "logic", "attempt": 1}),
    (EventKind.RECOVERY_APPLIED, {"recipe_name": "retry", "outcome": "started", "attempt": 2}),
    (EventKind.TASK_STARTED, {"attempt": 2, "agent": "coder-1"}),
    (EventKind.CONTRACT_EVALUATED, {"verdict": "pass", "exit_code": 0, "output_tail": "9 passed"}),
    (EventKind.TASK_COMPLETED, {"result": "proved", "attempt": 2}),
    (EventKind.PLAN_VERIFIED, {"errors": 0, "warnings": 0}),
)


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--verify", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.verify:
        return print_verification(arguments.verify)
    with tempfile.TemporaryDirectory() as folder:
        times = appending(folder, arguments.rounds)
        path = os.path.join(folder, "journal.db")
        times["load"] = load(path, arguments.events)
        times |= asking(path, arguments.events, arguments.rounds)
        times |= verification(path)
        times["bytes an event"] = os.path.getsize(path) / arguments.events
    record("journal", times)
    return report(times)


def event(number: int) -> Draft:
    """Return the event with that number, each a second after the one before."""
    step, kind = divmod(number, len(KINDS))
    plan, step = divmod(step, STEPS)
    name, details = KINDS[kind]
    return Draft(
        id=f"{plan:06}{step:06}{kind:04}{number:016x}",
        timestamp=time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(1_800_000_000 + number)),
        kind=name if number % 1000 else EventKind.EXECUTION_COMPLETE,
        plan=f"plan-{plan}",
        task_id=f"plan-{plan}-step-{step + 1}",
        task_name="Round once, at the end",
        details=Details.of({"number": str(step + 1), "run": f"run-{plan}", **details}),
    )


# -- appending ---------------------------------------------------------------------------------


def appending(folder: str, rounds: int) -> dict[str, float]:
    """Return the seconds of one append and of one bare commit of each kind."""
    journal = SqliteJournal(os.path.join(folder, "appended.db"))
    events = [event(number) for number in range(APPENDS * (rounds + 1))]
    drafts = iter(events)
    rows = iter([to_row(linked) for linked in chained(GENESIS, events)])
    statement = insert(DIALECT)
    line = encode(link(events[1], GENESIS, 1, 1))
    indexed, plain = (bare(os.path.join(folder, name)) for name in ("indexed.db", "plain.db"))
    indexed.execute(f"CREATE TABLE journal (seq INTEGER PRIMARY KEY, {', '.join(COLUMNS[1:])})")
    for column in ("id", "plan", "event", "timestamp", "task_id", "task_number"):
        indexed.execute(f"CREATE INDEX journal_{column} ON journal ({column})")
    plain.execute("CREATE TABLE line (seq INTEGER PRIMARY KEY, text)")

    def commit_rows() -> None:
        for _ in range(APPENDS):
            indexed.execute("BEGIN IMMEDIATE")
            indexed.execute(statement, next(rows))
            indexed.execute("COMMIT")

    def commit_lines() -> None:
        for _ in range(APPENDS):
            plain.execute("BEGIN IMMEDIATE")
            plain.execute("INSERT INTO line (text) VALUES (?)", (line,))
            plain.execute("COMMIT")

    def append() -> None:
        for _ in range(APPENDS):
            journal.append([next(drafts)])

    times = side_by_side(
        {"bare commit": commit_rows, "bare commit of a line": commit_lines, "append": append},
        rounds,
    )
    indexed.close()
    plain.close()
    journal.close()
    return {name: seconds / APPENDS for name, seconds in times.items()}


def bare(path: str) -> sqlite3.Connection:
    """Return a new database that syncs as the journal does."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


# -- asking ------------------------------------------------------------------------------------


def load(path: str, events: int, make: Callable[[int], Draft] | None = None) -> float:
    """Fill a journal in one transaction; return the seconds it took."""
    make = make or event
    start = time.perf_counter()
    journal = SqliteJournal(path)
    journal.append([make(0)])
    head = journal.head()
    journal.close()
    rest = (make(number) for number in range(1, events))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -200000")
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(insert(DIALECT), map(to_row, chained(head, rest)))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return time.perf_counter() - start


def chained(head: Head, drafts: Iterable[Draft]) -> Iterator[Record]:
    """Yield the records of events that follow each other."""
    plan_seqs = {event(0).plan: head.seq}
    for draft in drafts:
        plan_seqs[draft.plan] = plan_seqs.get(draft.plan, 0) + 1
        linked = link(draft, head, plan_seqs[draft.plan], EVENTS[draft.kind].VERSION)
        head = Head(linked.seq, linked.hash)
        yield linked


def asking(path: str, events: int, rounds: int) -> dict[str, float]:
    """Return the seconds of a question of each kind, its records decoded."""
    journal = SqliteJournal(path)
    middle = event(events // 2)
    plan = middle.plan
    questions = {
        "query by task": Query(task=middle.task_id),
        "query by number of a plan": Query(plan=plan, task="7"),
        "query by plan": Query(plan=plan),
        "query by event, rare": Query(events=(EventKind.EXECUTION_COMPLETE,)),
        "query by event, last 100": Query(events=(EventKind.TASK_STARTED,), last=100),
        "query by two events, last 100": Query(
            events=(EventKind.TASK_STARTED, EventKind.TASK_COMPLETED), last=100
        ),
        "query by event of a plan": Query(plan=plan, events=(EventKind.TASK_COMPLETED,)),
        "query by time, half an hour": Query(
            since=middle.timestamp, until=event(events // 2 + 1800).timestamp
        ),
        "query by time, last 100": Query(since=middle.timestamp, last=100),
        "query the last 100": Query(last=100),
    }
    contestants: dict[str, Callable[[], object]] = {
        name: partial(count, journal, query) for name, query in questions.items()
    }
    for name, ask in contestants.items():
        print(f"{name:34} finds {ask()}")
    times = side_by_side(contestants, rounds)
    journal.close()
    return times


def count(journal: SqliteJournal, query: Query) -> int:
    """Return how many records there are."""
    return sum(1 for _ in journal.read(query))


# -- verifying ---------------------------------------------------------------------------------


def verification(path: str) -> dict[str, float]:
    """Verify the whole chain in a process of its own; return seconds and memory."""
    command = [sys.executable, "-m", "benchmarks.journal", "--verify", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    values: dict[str, float] = json.loads(done.stdout)
    return values


def print_verification(path: str) -> int:
    """Verify, and print what it took."""
    journal = SqliteJournal(path)
    few = Query(last=10_000)
    for _ in journal.read(few):
        pass
    before = megabytes()
    start = time.perf_counter()
    faults = sum(1 for _ in verify(journal.read(Query())))
    seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "verify": seconds,
                "verify faults": faults,
                "peak megabytes": megabytes(),
                "megabytes grown": megabytes() - before,
            }
        )
    )
    return 0


def megabytes() -> float:
    """Return the most memory that this process had so far."""
    # Not what `getrusage` says: that begins with what the process had that started this one.
    with open("/proc/self/status", encoding="ascii") as status:
        (peak,) = (line.split()[1] for line in status if line.startswith("VmHWM:"))
    return int(peak) / 1024


def report(times: dict[str, float]) -> int:
    """Print the numbers and what is over its limit."""
    for name in ("bare commit of a line", "bare commit", "append"):
        print(f"{name:34} {times[name] * 1000:9.3f} ms   {1 / times[name]:9.0f} a second")
    print(f"{'load':34} {times['load']:9.1f} s")
    print(f"{'bytes an event':34} {times['bytes an event']:9.0f}")
    print(f"{'peak megabytes while verifying':34} {times['peak megabytes']:9.1f}")
    checks = {
        name + ", ms": (seconds * 1000, QUERY_MILLISECONDS)
        for name, seconds in times.items()
        if name.startswith("query")
    }
    checks["verify, seconds"] = (times["verify"], VERIFY_SECONDS)
    checks["verify, faults"] = (times["verify faults"], 0)
    checks["megabytes grown while verifying"] = (times["megabytes grown"], GROWTH_MEGABYTES)
    for name, (value, limit) in checks.items():
        print(f"{name:46} {value:8.2f} (limit {limit}){'  OVER' if value > limit else ''}")
    of_line = times["bare commit of a line"] / times["append"]
    print(f"{'appends to a bare commit of a line':46} {of_line:8.2f}")
    ratio = times["bare commit"] / times["append"]
    under = ratio < OF_BARE
    print(
        f"{'appends to a bare commit of the same row':46} {ratio:8.2f} (at least {OF_BARE})"
        + ("  UNDER" if under else "")
    )
    return 1 if under or any(value > limit for value, limit in checks.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
