"""The journal in PostgreSQL: how fast many writers append, and what a large one costs.

A real server is started, as the tests start it, but one that syncs. Writers are processes of their
own, each with one connection; of an append nothing is known before it is durable. "1 ms away"
is a proxy that holds back whatever passes it for so long, each way.

The large journal is loaded at once, and then asked, checked and appended to.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import queue
import resource
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.journal import chained, event
from benchmarks.measure import record
from planbound.journal.chain import verify
from planbound.journal.postgres import PostgresJournal
from planbound.journal.record import Draft, Head, Query
from planbound.journal.repository import RepositoryName
from planbound.journal.sql import COLUMNS, to_row
from planbound.receipts.merkle import MerkleTree
from tests.journal.conftest import serve_postgres

REPOSITORIES = 8
DELAY = 0.001
LARGE = RepositoryName("large", "large")
_FORK = multiprocessing.get_context("fork")


class Load(NamedTuple):
    """How many writers append how often, how many events at once, to how many journals."""

    writers: int
    appends: int
    events: int = 1
    repositories: int = 1
    away: bool = False


LOADS = {
    "1 writer": Load(1, 400),
    "8 writers": Load(8, 60),
    "64 writers": Load(64, 12),
    "1 writer, 10 events at once": Load(1, 100, events=10),
    "8 writers, 8 repositories": Load(8, 60, repositories=8),
    "1 writer, 1 ms away": Load(1, 100, away=True),
    "8 writers, 1 ms away": Load(8, 60, away=True),
}


def main() -> int:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=200_000)
    arguments = parser.parse_args()
    found: dict[str, float] = {"events": arguments.events, "cores": os.cpu_count() or 1}
    with serve_postgres() as server:
        with psycopg.connect(server, autocommit=True) as raw:
            raw.execute("ALTER SYSTEM SET fsync = on")
            raw.execute("SELECT pg_reload_conf()")
            (most,) = raw.execute("SHOW max_connections").fetchone() or ("0",)
            found["max_connections"] = float(most)
        found |= repositories(server)
        with far_away(server) as away:
            found |= appending(server, away, arguments.rounds)
        found |= large(server, arguments.events)
        found["load"] = os.getloadavg()[0]
    record("database", found)
    for name, value in found.items():
        print(f"{name:34} {value:12.3f}")
    return 0


# -- appending -----------------------------------------------------------------------------------


def appending(server: str, away: str, rounds: int) -> dict[str, float]:
    """Return how many events a second each load appends: the median, measured in turns."""
    speeds: dict[str, list[float]] = {name: [] for name in LOADS}
    for number in range(rounds):
        for name, load in LOADS.items():
            address = away if load.away else server
            speeds[name].append(run(address, load, f"{number}/{name}"))
    best = {f"{name}, best": max(found) for name, found in speeds.items()}
    return {name: statistics.median(found) for name, found in speeds.items()} | best


def run(address: str, load: Load, tag: str) -> float:
    """Let writers append; return how many events a second that was."""
    start = _FORK.Barrier(load.writers + 1)
    writers = [
        _FORK.Process(target=write, args=(address, load, f"{tag}/{number}", number, start))
        for number in range(load.writers)
    ]
    for writer in writers:
        writer.start()
    start.wait()
    begun = time.perf_counter()
    for writer in writers:
        writer.join()
    seconds = time.perf_counter() - begun
    if any(writer.exitcode for writer in writers):
        raise SystemExit(f"a writer of {tag} failed")
    return load.writers * load.appends * load.events / seconds


def write(address: str, load: Load, tag: str, number: int, start: Barrier) -> None:
    """Append as one of the writers does."""
    name = f"repository-{number % load.repositories}"
    journal = PostgresJournal(address, RepositoryName(name, name))
    for warm in range(6):  # the server keeps a plan for a statement that it has seen five times
        journal.append([draft(f"{tag}/warm/{warm}", number)])
    start.wait()
    for at in range(load.appends):
        journal.append([draft(f"{tag}/{at}/{each}", number) for each in range(load.events)])
    journal.close()


def draft(name: str, number: int) -> Draft:
    """Return an event of a writer's plan."""
    return event(number)._replace(id=name, plan=f"plan-{number}")


@contextlib.contextmanager
def far_away(server: str) -> Iterator[str]:
    """Give an address of the server to which all takes its time."""
    parts = psycopg.conninfo.conninfo_to_dict(server)
    target = os.path.join(str(parts["host"]), f".s.PGSQL.{parts.get('port') or 5432}")
    with tempfile.TemporaryDirectory(prefix="far") as folder:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(folder, ".s.PGSQL.5432"))
        listener.listen(128)
        proxy = _FORK.Process(target=hold_back, args=(listener, target), daemon=True)
        proxy.start()
        try:
            yield make_conninfo(server, host=folder, port=5432)
        finally:
            proxy.terminate()
            proxy.join()
            listener.close()


def hold_back(listener: socket.socket, target: str) -> None:
    """Pass on what comes, a moment later."""
    while True:
        near, _ = listener.accept()
        far = socket.socket(socket.AF_UNIX)
        far.connect(target)
        for here, there in ((near, far), (far, near)):
            passing: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
            for work, end in ((take, here), (give, there)):
                threading.Thread(target=work, args=(end, passing), daemon=True).start()


def take(here: socket.socket, passing: queue.SimpleQueue[tuple[float, bytes]]) -> None:
    """Note what comes, and when it is due on the other side."""
    data = b"."
    while data:
        try:
            data = here.recv(1 << 16)
        except OSError:
            data = b""
        passing.put((time.perf_counter() + DELAY, data))


def give(there: socket.socket, passing: queue.SimpleQueue[tuple[float, bytes]]) -> None:
    """Hand on what is due."""
    with contextlib.suppress(OSError):
        while (each := passing.get())[1]:
            time.sleep(max(0.0, each[0] - time.perf_counter()))
            there.sendall(each[1])
        there.shutdown(socket.SHUT_WR)


# -- many repositories, and a large one ----------------------------------------------------------


def repositories(server: str) -> dict[str, float]:
    """Return what a repository costs that has nothing yet."""
    before = size(server)
    begun = time.perf_counter()
    for number in range(REPOSITORIES):
        name = f"repository-{number}"
        journal = PostgresJournal(server, RepositoryName(name, name))
        journal.append([draft(name, number)])
        journal.close()
    seconds = (time.perf_counter() - begun) / REPOSITORIES
    return {"new repository": seconds, "its bytes": (size(server) - before) / REPOSITORIES}


def size(server: str) -> int:
    """Return how large the database is."""
    with psycopg.connect(server) as raw:
        (found,) = raw.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
    return int(found)


def large(server: str, events: int) -> dict[str, float]:
    """Return what it costs to ask, to check and to go on with a large journal."""
    journal = PostgresJournal(server, LARGE)
    journal.append([event(0)])
    before = size(server)
    fill(server, journal.schema, journal.head(), events)
    middle = event(events // 2)
    found = {"bytes an event": (size(server) - before) / events}
    questions = {
        "query by plan": Query(plan=middle.plan),
        "query by task": Query(task=middle.task_id),
        "query the last 100": Query(last=100),
    }
    for name, query in questions.items():
        count(journal, query)
        found[name] = timed(partial(count, journal, query))
    found["appends on it"] = 100 / timed(partial(append_some, journal, 100))
    found["verify, events a second"] = events / timed(partial(faults, journal))
    peak = megabytes()
    found["checkpoint, events a second"] = events / timed(partial(root, journal, events))
    found["checkpoint, bytes an event"] = (megabytes() - peak) * (1 << 20) / events
    journal.close()
    return found


def count(journal: PostgresJournal, query: Query) -> int:
    """Return how many records there are."""
    return sum(1 for _ in journal.read(query))


def faults(journal: PostgresJournal) -> int:
    """Check the whole chain; return what is wrong with it."""
    return sum(1 for _ in verify(journal.read(Query())))


def root(journal: PostgresJournal, events: int) -> bytes:
    """Return the root of the checkpoint that a receipt has."""
    return MerkleTree(journal.hashes(events)).root()


def append_some(journal: PostgresJournal, times: int) -> None:
    """Append one event after the other."""
    for number in range(times):
        journal.append([draft(f"more/{number}", number)])


def fill(server: str, schema: str, head: Head, events: int) -> None:
    """Put the rest of so many events into a journal, past its guards."""
    rest = (event(number) for number in range(1, events))
    with psycopg.connect(server) as raw:
        raw.execute(f"ALTER TABLE {schema}.journal DISABLE TRIGGER USER".encode())
        # `latest` is filled by a trigger, and asked by nobody.
        into = f"COPY {schema}.journal ({', '.join(COLUMNS)}, latest) FROM STDIN"
        with raw.cursor().copy(into.encode()) as copy:
            for linked in chained(head, rest):
                copy.write_row((*to_row(linked), linked.draft.timestamp))
        raw.execute(f"ALTER TABLE {schema}.journal ENABLE TRIGGER USER".encode())
        raw.commit()
        raw.execute(f"ANALYZE {schema}.journal".encode())


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def megabytes() -> float:
    """Return the most memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
