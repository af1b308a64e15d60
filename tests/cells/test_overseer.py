"""Whoever oversees a command sees its output at once and can end it; it may be given input."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable

import pytest

from planbound.cells.cell import CommandEnding
from planbound.plan.model import Stream
from tests.cells import cell_bench
from tests.cells.cell_bench import ALL, Bench, at_most, cells, nap, running, wait_until

pytestmark = [cells(*ALL), pytest.mark.requirement("shell.nothing-left")]

bench = cell_bench.bench


class Watching:
    """Keeps what it saw, and says stop when something is true of it."""

    def __init__(self, over: Callable[[Watching], object] = lambda _: False) -> None:
        self.seen = dict.fromkeys(Stream, b"")
        self.asked = 0
        self.over = over

    def saw(self, stream: Stream, data: bytes) -> None:
        self.seen[stream] += data

    def stop(self) -> str | None:
        self.asked += 1
        return "the budget is spent" if self.over(self) else None


def test_an_overseer_sees_what_is_captured(bench: Bench) -> None:
    watching = Watching()
    script = "echo one; echo two >&2; head -c 100000 /dev/zero"
    outcome = bench.cell.run(bench.request(script), watching)
    assert (outcome.ending, outcome.exit_code) == (CommandEnding.EXITED, 0), outcome
    assert watching.seen[Stream.STDOUT] == b"one\n" + bytes(100000)
    assert watching.seen[Stream.STDOUT] == outcome.stdout.head + outcome.stdout.tail
    assert watching.seen[Stream.STDERR] == outcome.stderr.head == b"two\n"


def test_output_is_seen_while_the_command_still_runs(bench: Bench) -> None:
    go = bench.write("go", "")

    class Answering(Watching):
        def saw(self, stream: Stream, data: bytes) -> None:
            super().saw(stream, data)
            go.write_text("yes")

    # Not the tree but the host's file: a contract sees its tree as it was.
    outcome = bench.cell.run(
        bench.request("echo ready; until [ -s go ]; do sleep 0.01; done", writable=True),
        Answering(),
    )
    assert outcome.exit_code == 0, outcome


@pytest.mark.requirement("cell.overseer")
@pytest.mark.parametrize("writable", [False, True])
def test_a_stop_ends_everything_at_once(bench: Bench, *, writable: bool) -> None:
    word = nap()
    script = (
        f"trap '' TERM INT HUP; (setsid sleep {word} &); sleep {word} & "
        f"until [ $(pgrep -fc 'sleep {word}') -ge 2 ]; do :; done; echo said; echo wrong >&2; wait"
    )
    watching = Watching(lambda self: self.seen[Stream.STDERR])
    with at_most(10):
        outcome = bench.cell.run(bench.request(script, writable=writable), watching)
        # It is dead on the return, and not some time after it.
        assert not running(word)
    assert outcome.ending is CommandEnding.STOPPED
    assert outcome.reason == "the budget is spent"
    assert (outcome.exit_code, outcome.signal) == (None, None)
    assert (outcome.stdout.head, outcome.stderr.head) == (b"said\n", b"wrong\n")
    assert bench.rooms() == []


def test_a_silent_command_can_be_stopped(bench: Bench) -> None:
    word = nap()
    watching = Watching(lambda self: self.asked >= 4 and running(word))
    with at_most(20):
        outcome = bench.cell.run(bench.request(f"exec sleep {word}"), watching)
    assert outcome.ending is CommandEnding.STOPPED
    assert not running(word)


def test_a_command_can_be_stopped_before_it_starts(bench: Bench) -> None:
    word = nap()
    with at_most(20):
        outcome = bench.cell.run(bench.request(f"sleep {word}"), Watching(lambda _: True))
    assert outcome.ending is CommandEnding.STOPPED
    assert not running(word)
    assert bench.works()


def test_what_has_ended_by_itself_is_not_stopped(bench: Bench) -> None:
    outcome = bench.cell.run(bench.request("exit 3"), Watching())
    assert (outcome.ending, outcome.exit_code) == (CommandEnding.EXITED, 3)


def test_an_overseer_that_breaks_leaves_nothing(bench: Bench) -> None:
    word = nap()

    class Broken(Watching):
        def saw(self, stream: Stream, data: bytes) -> None:
            raise RuntimeError(f"broken by {stream}: {data!r}")

    with pytest.raises(RuntimeError, match="broken"):
        bench.cell.run(bench.request(f"sleep {word} & echo x; wait"), Broken())
    assert not running(word)
    assert bench.rooms() == []


def test_a_signal_from_the_command_stops_nothing(bench: Bench) -> None:
    assert bench.says("kill -IO $PPID; kill -URG $PPID; echo still here") == "still here\n"


@pytest.mark.requirement("cell.overseer")
def test_the_command_reads_what_it_is_given(bench: Bench) -> None:
    given = os.urandom(5_000_000)
    said = bench.says("sha256sum", stdin=given)
    assert said.split()[0] == hashlib.sha256(given).hexdigest()


def test_the_command_finds_its_input_by_name_too(bench: Bench) -> None:
    assert bench.says("read -r one; echo $one; cat", stdin=b"a\nb\nc\n") == "a\nb\nc\n"
    assert bench.says("cat /dev/stdin", stdin=b"given") == "given"


def test_the_input_cannot_be_written_to(bench: Bench) -> None:
    script = "(echo x >&0) 2> /dev/null && echo written; cat"
    assert bench.says(script, stdin=b"given") == "given"


def test_without_input_there_is_none(bench: Bench) -> None:
    assert bench.says("readlink /proc/self/fd/0; cat; ls /proc/self/fd | wc -w").splitlines() == [
        "/dev/null",
        "4",
    ]


def test_the_command_holds_nothing_of_the_harness(bench: Bench) -> None:
    # 3 is what `ls` reads the folder by.
    assert bench.says("ls /proc/self/fd", stdin=b"given").split() == ["0", "1", "2", "3"]


@pytest.mark.requirement("cell.dies-with-harness")
@pytest.mark.parametrize("delay", [0.0, 0.06, 0.1, 0.14, 0.2, 0.3])
def test_a_harness_that_is_killed_at_any_moment_leaves_nothing(bench: Bench, delay: float) -> None:
    word = nap()
    script = f"(sleep {word} &); sleep {word}"
    with bench.harness(script) as process:
        time.sleep(delay)
        family = _below(process.pid)
        process.kill()
        process.wait(timeout=30)
        assert wait_until(lambda: not any(map(_lives, family)) and not running(word), 5)


@pytest.mark.requirement("cell.dies-with-harness")
@pytest.mark.parametrize("how", ["(setsid sleep {word} &)", "(sleep {word} &)", "sleep {word} &"])
def test_grandchildren_die_with_a_killed_harness(bench: Bench, how: str) -> None:
    word = nap()
    how = how.replace(" &", " > /dev/null 2>&1 < /dev/null &")
    with bench.harness(f"{how.format(word=word)}\nsleep {word}") as process:
        assert wait_until(lambda: len(running(word)) == 2)
        process.kill()
        process.wait(timeout=30)
        assert wait_until(lambda: not running(word), 5)


def _below(number: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _fields(int(name))):
            parents.setdefault(int(fields[1]), []).append(int(name))
    found, heads = [], [number]
    while heads:
        children = parents.get(heads.pop(), [])
        found += children
        heads += children
    return found


def _lives(number: int) -> bool:
    fields = _fields(number)
    return bool(fields) and fields[0] != "Z"


def _fields(number: int) -> list[str]:
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []
