"""What happens, as it happens: every event once, in its order, and nobody slows anybody."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import anyio
import anyio.lowlevel
import pytest

from planbound.journal.event import EventKind
from planbound.journal.record import GENESIS, Details, Draft, Head, Journal, Query, Record
from planbound.journal.sqlite import SqliteJournal
from planbound.page.live import LiveStream
from tests.journal import chained, started
from tests.page.browser import RunningServer, serving
from tests.program import Program

pytestmark = pytest.mark.requirement("page.live")

FOLLOWERS = 200


class Follower:
    """Somebody who follows the page over a socket."""

    def __init__(self, page: RunningServer, target: str, **headers: str) -> None:
        given = {"Host": f"{page.host}:{page.port}", "Cookie": page.cookie, **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        self.connection = page.connect()
        self.connection.sendall(f"GET {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))
        self.found = b""

    def until(self, seq: int) -> list[int]:
        """Return the numbers of all events up to this one, in their order."""
        while f"id: {seq}\nevent: changed\n".encode() not in self.found:
            chunk = self.connection.recv(65536)
            assert chunk, self.found[-2000:]
            self.found += chunk
        return self.numbers()

    def numbers(self) -> list[int]:
        return [int(each) for each in re.findall(rb"id: (\d+)\ndata: <li", self.found)]

    def close(self) -> None:
        self.connection.close()


@pytest.fixture(scope="module")
def journal(project: Program, page: RunningServer) -> SqliteJournal:
    del page
    project.run("ask", "hello", "why?", "--as", "me")
    (found,) = (project.workspace / ".home").rglob("journal.sqlite")
    return SqliteJournal(str(found))


@pytest.fixture
def followers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def head(journal: SqliteJournal) -> int:
    return journal.head().seq


def numbers(journal: SqliteJournal, after: int = 0) -> list[int]:
    return [record.seq for record in journal.read(Query(plan="hello", after=after))]


def say(project: Program, words: str) -> None:
    assert project.run("ask", "hello", words, "--as", "me").code == 0


def test_whoever_comes_late_gets_everything_first_and_then_what_follows(
    project: Program, page: RunningServer, journal: SqliteJournal
) -> None:
    follower = Follower(page, "/live?plan=hello")
    assert follower.until(head(journal)) == numbers(journal)
    say(project, "one more")
    assert follower.until(head(journal)) == numbers(journal)
    follower.close()


def test_a_reconnect_loses_nothing_and_doubles_nothing(
    project: Program, page: RunningServer, journal: SqliteJournal
) -> None:
    first = Follower(page, "/live?plan=hello")
    seen = first.until(head(journal))
    first.close()
    say(project, "while nobody looks")
    say(project, "and another one")
    again = Follower(page, "/live?plan=hello", **{"Last-Event-ID": str(seen[-1])})
    assert seen + again.until(head(journal)) == numbers(journal)
    again.close()
    beside = Follower(page, f"/live?plan=hello&after={seen[-1]}")
    assert beside.until(head(journal)) == numbers(journal, seen[-1])
    beside.close()


def test_a_number_that_is_none_is_the_beginning(
    page: RunningServer, journal: SqliteJournal
) -> None:
    for wrong in ("x", "-1", "9" * 40, "1e3"):
        follower = Follower(page, "/live?plan=hello", **{"Last-Event-ID": wrong})
        assert follower.until(head(journal)) == numbers(journal)
        follower.close()


def test_who_saw_more_than_there_is_gets_all_of_this_journal(
    page: RunningServer, journal: SqliteJournal
) -> None:
    beyond = str(head(journal) + 1)
    for target, headers in (
        ("/live?plan=hello", {"Last-Event-ID": beyond}),
        (f"/live?plan=hello&after={'9' * 18}", {}),
    ):
        follower = Follower(page, target, **headers)
        assert follower.until(head(journal)) == numbers(journal)
        follower.close()


class ReplacedJournal:
    """A journal in whose place another one is put."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def head(self) -> Head:
        return Head(self.records[-1].seq, self.records[-1].hash) if self.records else GENESIS

    def read(self, query: Query) -> Iterator[Record]:
        return iter([each for each in self.records if each.seq > query.after])


def test_who_follows_while_another_journal_is_put_there_gets_all_of_that() -> None:
    journal = ReplacedJournal()
    journal.records = chained(started(number) for number in range(1, 6))
    live = LiveStream(lambda: cast("Journal", journal))
    told: list[int] = []

    async def follow(seen: anyio.Event) -> None:
        async for message in live.follow({}, 0):
            told.extend(int(each) for each in re.findall(rb"id: (\d+)\ndata: <li", message))
            if told[-1:] == [5]:
                seen.set()
            if told[-2:] == [1, 2]:
                live.stop()

    async def both() -> None:
        seen = anyio.Event()
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(live.watch)
                tasks.start_soon(follow, seen)
                await seen.wait()
                while not live._begun:
                    await anyio.lowlevel.checkpoint()
                journal.records = chained(started(number) for number in (8, 9))

    anyio.run(both)
    assert told == [1, 2, 3, 4, 5, 1, 2]


def test_a_quiet_stream_says_only_that_something_changed(
    page: RunningServer, journal: SqliteJournal
) -> None:
    follower = Follower(page, "/live?plan=hello&quiet=1")
    assert follower.until(head(journal)) == []
    follower.close()


def test_nobody_follows_without_the_cookie(page: RunningServer) -> None:
    assert page.ask("GET", "/live").status == 401
    assert page.get("/live", Host="evil.example").status == 403


def test_what_an_event_tells_is_text_in_the_stream(
    project: Program, page: RunningServer, journal: SqliteJournal
) -> None:
    before = head(journal)
    say(project, "<script>alert(1)</script>\ndata: x\n\nid: 99999\nevent: changed")
    follower = Follower(page, f"/live?plan=hello&after={before}")
    follower.until(head(journal))
    assert b"<script>" not in follower.found
    assert b"id: 99999\n" not in follower.found
    follower.close()


@pytest.mark.thorough
def test_a_connection_that_asks_for_nothing_is_closed(page: RunningServer) -> None:
    for said in (b"", b"GET / HTTP/1.1\r\nHost: "):
        with page.connect() as connection:
            connection.sendall(said)
            assert connection.recv(1000) == b""
    assert page.get("/").status == 200


def memory(process: int) -> int:
    """Return how many kilobytes a process has of its own."""
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert found is not None
    return int(found[1])


def files(process: int) -> int:
    """Return how many files a process has open."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


@pytest.mark.thorough
def test_many_slow_and_broken_followers_hold_up_nobody_and_take_no_memory(
    project: Program, journal: SqliteJournal, followers: ExitStack
) -> None:
    """Two hundred follow, one never reads, some are cut off: the others get everything."""
    with serving(project) as page:
        page.enter()
        quick = Follower(page, "/live?plan=hello")
        quick.until(head(journal))
        page.get("/plan/hello/run")
        never_reads = Follower(page, "/live?plan=hello")
        never_reads.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        many = [Follower(page, "/live?plan=hello") for _ in range(FOLLOWERS)]
        for each in (*many, never_reads, quick):
            followers.callback(each.close)
        for each in many:
            each.until(head(journal))
        settled = memory(page.process.pid)
        for each in many[::10]:
            each.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01" + b"\x00" * 7)
            each.close()
        for words in ("a" * 3_000, "b" * 3_000, "c" * 3_000):
            say(project, words)
        left = [each for at, each in enumerate(many) if at % 10]
        for each in (quick, *left):
            assert each.until(head(journal)) == numbers(journal)
        opened = files(page.process.pid)
        for _ in range(100):
            for target in ("/", "/plan/hello", "/plan/hello/run", "/journal"):
                assert page.get(target).status == 200
        assert files(page.process.pid) <= opened + 5
        # What each of them is sent is made when it is sent, and kept for nobody.
        assert memory(page.process.pid) - settled < 40_000
        page.stop()
        assert page.process.returncode in {0, 130}


def test_an_event_that_cannot_be_read_stops_nobody(program: Program) -> None:
    program.plan("hello")
    with serving(program) as running:
        running.enter()
        program.run("ask", "hello", "why?", "--as", "me")
        (found,) = (program.workspace / ".home").rglob("journal.sqlite")
        journal = SqliteJournal(str(found))
        follower = Follower(running, "/live")
        follower.until(head(journal))
        journal.append([Draft(id="f" * 32, timestamp="2026-01-01T00:00:00.000000Z",
                              kind=EventKind.EXECUTION_COMPLETE, plan="hello",
                              details=Details.of({"status": 7}))])  # fmt: skip
        program.run("ask", "hello", "and now?", "--as", "me")
        assert follower.until(head(journal)) == numbers(journal)
        follower.close()
        shown = running.get("/journal")
        assert shown.status == 200
        assert "it cannot be read" in shown.text
