"""The page: first byte of each address with 100 plans and 100,000 events, and how soon it follows.

Beside it stands a bare page of Starlette on the same server, which says one sentence. Each is asked
in turns with the others, and what counts is the 95th of a hundred answers. How soon the page
follows is from the append of an event to the part of a page that shows it, as a script asks for it.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO
from urllib.parse import urlsplit

from benchmarks.journal import event, load
from benchmarks.measure import record
from benchmarks.process import clean_environment
from benchmarks.receipt import prepare, write
from planbound.journal.event import EventKind
from planbound.journal.sqlite import SqliteJournal

PLANS = 100
ROUNDS = 40
FOLLOWERS = 200
FIRST_BYTE_SECONDS = 0.1
FOLLOWS_SECONDS = 0.3
BARE = "a bare page of Starlette"
ADDRESSES = {
    "/": "/",
    "/plan/X": "/plan/all",
    "/plan/X, 1,000 events": "/plan/plan-7",
    "/plan/X/run": "/plan/all/run",
    "/plan/X/step/N/attempt/K": "/plan/all/step/7/attempt/1",
    "/journal": "/journal",
    "/journal?q=": "/journal?q=cent+plan-99",
    "/costs": "/costs",
}
_BARE = """\
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

async def page(request):
    return HTMLResponse("<!DOCTYPE html><title>bare</title><p>This is a page.")

door = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{door.getsockname()[1]}/", flush=True)
app = Starlette(routes=[Route("/", page)])
config = uvicorn.Config(app, log_level="critical", http="h11", access_log=False)
uvicorn.Server(config).run(sockets=[door])
"""


def main() -> int:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--events", type=int, default=1_000_000, help="of the large journal")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="planbound-bench-") as folder:
        workspace, environment = prepare(folder, 10)
        add_plans(workspace)
        times = measure(workspace, environment, arguments.rounds)
        times |= large(folder, arguments.events, arguments.rounds)
    record("page", times)
    for name, value in times.items():
        print(f"{name:44} {value * 1000:10.1f} ms")
    return 0


def add_plans(workspace: str) -> None:
    """Write the files of the other plans."""
    with open(os.path.join(workspace, ".harness", "PLAN-all.md"), encoding="utf-8") as file:
        text = re.sub(r"status: \S+", "status: draft", file.read())
    for number in range(PLANS - 1):
        write(workspace, f".harness/PLAN-plan-{number}.md", text)


class Visitor:
    """A browser that has entered, and asks for one page after the other over one connection."""

    def __init__(self, address: str, cookie: str = "") -> None:
        self._address = address
        self._connection = self._connect()
        self._headers = {"Cookie": cookie} if cookie else {}

    def _connect(self) -> http.client.HTTPConnection:
        found = urlsplit(self._address)
        return http.client.HTTPConnection(found.hostname or "", found.port)

    def follow(self, target: str) -> http.client.HTTPResponse:
        """Return a stream, over a connection of its own."""
        connection = self._connect()
        connection.request("GET", target, headers=self._headers)
        return connection.getresponse()

    def ask(self, target: str, headers: Mapping[str, str] | None = None) -> tuple[float, bytes]:
        """Return the seconds to the first byte, and the page."""
        begun = time.perf_counter()
        self._connection.request("GET", target, headers={**self._headers, **(headers or {})})
        answer = self._connection.getresponse()
        first = time.perf_counter() - begun
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"{target} answered {answer.status}: {body[:300].decode(errors='replace')}")
        return first, body


@contextmanager
def process(
    command: Sequence[str], workspace: str, environment: Mapping[str, str]
) -> Iterator[tuple[str, float]]:
    """Start a server; yield the address that it prints, and how many seconds that took."""
    begun = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=workspace,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            yield _printed(server.stdout), time.perf_counter() - begun
        finally:
            server.kill()


def _printed(stream: IO[str] | None) -> str:
    line = stream.readline().strip() if stream is not None else ""
    if not line:
        sys.exit("the server did not start, so there is nothing to measure")
    return line


def enter(link: str) -> Visitor:
    """Return a browser that exchanged the link for its cookie."""
    found = urlsplit(link)
    connection = http.client.HTTPConnection(found.hostname or "", found.port)
    connection.request("GET", f"{found.path}?{found.query}")
    cookie = connection.getresponse().headers["Set-Cookie"].partition(";")[0]
    return Visitor(link, cookie)


def measure(workspace: str, environment: dict[str, str], rounds: int) -> dict[str, float]:
    """Return the seconds of everything that is measured on the smaller journal."""
    page = [sys.executable, "-m", "planbound", "page", "--port", "0"]
    with (
        process([sys.executable, "-c", _BARE], workspace, environment) as (bare, bare_start),
        process(page, workspace, environment) as (link, start),
    ):
        visitor, beside = enter(link), Visitor(bare)
        begun = time.perf_counter()
        visitor.ask("/")
        times = {"start": start, f"start of {BARE}": bare_start}
        times["first page after the start"] = time.perf_counter() - begun
        found: dict[str, list[float]] = {name: [] for name in (BARE, *ADDRESSES)}
        for _ in range(rounds):
            found[BARE].append(beside.ask("/")[0])
            for name, target in ADDRESSES.items():
                found[name].append(visitor.ask(target)[0])
        times |= {name: late(each) for name, each in found.items()}
        times["an event to its part of a page"] = late(list(follow(environment, visitor, rounds)))
        times |= crowd(environment, visitor, rounds)
    return times


def late(seconds: Sequence[float]) -> float:
    """Return the 95th of a hundred."""
    return sorted(seconds)[int(len(seconds) * 0.95) - 1]


def follow(environment: Mapping[str, str], visitor: Visitor, rounds: int) -> Iterator[float]:
    """Yield how long it takes from an append until a browser has the part that shows it."""
    journal = SqliteJournal(os.path.join(environment["PLANBOUND_STATE"], "journal.sqlite"))
    stream = visitor.follow(f"/live?plan=plan-7&after={journal.head().seq}")
    for number in range(rounds):
        draft = event(7_001)._replace(id=f"follow-{number}", kind=EventKind.PLAN_VERIFIED)
        begun = time.perf_counter()
        (appended,) = journal.append([draft])
        while f"data: {appended.seq}\n".encode() != stream.readline():
            pass
        visitor.ask("/plan/plan-7/run", {"HX-Request": "true"})
        yield time.perf_counter() - begun
    stream.close()
    journal.close()


def crowd(environment: Mapping[str, str], visitor: Visitor, rounds: int) -> dict[str, float]:
    """Return the seconds of an append while nobody follows, and while many do."""
    journal = SqliteJournal(os.path.join(environment["PLANBOUND_STATE"], "journal.sqlite"))

    def append(name: str) -> float:
        found = []
        for number in range(rounds):
            draft = event(7_001)._replace(id=f"{name}-{number}", kind=EventKind.PLAN_VERIFIED)
            begun = time.perf_counter()
            journal.append([draft])
            found.append(time.perf_counter() - begun)
            time.sleep(0.02)  # a run has a few events a second, at most
        return statistics.median(found)

    alone = append("alone")
    after = journal.head().seq
    streams = [visitor.follow(f"/live?plan=plan-7&after={after}") for _ in range(FOLLOWERS)]
    followed = append("followed")
    for stream in streams:
        stream.close()
    journal.close()
    return {"an append, followed by nobody": alone, f"an append, {FOLLOWERS} follow": followed}


def large(folder: str, events: int, rounds: int) -> dict[str, float]:
    """Return the first byte of the first page of a large journal, before anything is folded."""
    workspace, state = os.path.join(folder, "large"), os.path.join(folder, "large-state")
    os.makedirs(os.path.join(workspace, ".harness"))
    os.makedirs(os.path.join(workspace, ".git"))
    os.makedirs(state, mode=0o700)
    load(os.path.join(state, "journal.sqlite"), events)
    environment = clean_environment(folder, PLANBOUND_STATE=state)
    page = [sys.executable, "-m", "planbound", "page", "--port", "0"]
    with process(page, workspace, environment) as (link, _):
        visitor = enter(link)
        found = [visitor.ask("/journal")[0] for _ in range(rounds)]
        older = [visitor.ask("/journal?before=500000")[0] for _ in range(rounds)]
    return {f"/journal, {events:,} events": late(found), "an older page of it": late(older)}


if __name__ == "__main__":
    sys.exit(main())
