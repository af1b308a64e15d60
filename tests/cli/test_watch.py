"""`planbound watch`: on terminals of any size, through pipes, and however it is ended."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from planbound.cli.watch_screen import LOWEST, NARROWEST, Watched, age, cut, frame, way_to_answer
from planbound.journal.words import Choice, QuestionKind
from planbound.source import columns_of
from planbound.state.question import Question
from planbound.team.lanes import Lane, LanePlan
from tests.forked import Place, Started
from tests.run.bench import NOTHING, Bench, Step

pytestmark = pytest.mark.requirement("command.watch")

ENTERS, LEAVES = "\x1b[?1049h", "\x1b[?1049l"
SECONDS = 60.0


def plain(text: str, _style: str) -> str:
    return text


def plan(slug: str, lane: Lane, about: str = "", settled: int = 1) -> LanePlan:
    return LanePlan(slug, lane, "in-progress", about, f"{settled}/3 proved", settled, 3)


def question(key: str, reason: str = "exit 1") -> Question:
    return Question(
        id=key,
        plan="alpha",
        kind=QuestionKind.FAILURE,
        reason=reason,
        since="2026-11-20T00:00:00.000000Z",
        task_id="make-b",
        number="2",
        choices=(Choice.RETRY,),
    )


def scene(plans: int = 4, waiting: int = 2) -> Watched:
    lanes = list(Lane)
    return Watched(
        title="planbound watch · repo",
        now="2026-11-20T00:12:30.000000Z",
        plans=[plan(f"plan-{at}", lanes[at % len(lanes)], "why " * 40) for at in range(plans)],
        waiting=[question(f"{at:08x}", "much to say " * 30) for at in range(waiting)],
        verdicts=(),
        chosen="00000000",
    )


# -- what is drawn -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (120, 50), (60, 24), (40, 12), (20, 5), (1, 1)])
@pytest.mark.parametrize("plans", [0, 4, 300])
def test_the_screen_fits_every_terminal(size: tuple[int, int], plans: int) -> None:
    lines = frame(scene(plans, waiting=min(plans, 40)), *size, plain)
    assert len(lines) == max(size[1], LOWEST)
    assert max(map(columns_of, lines)) <= max(size[0], NARROWEST)
    assert lines[0].startswith("planboun")
    assert "q" in lines[-1]


def test_a_command_that_is_shown_can_be_copied_whatever_a_plan_is_called() -> None:
    asked = replace(question("00000001"), plan="x$(id)", kind=QuestionKind.APPROVAL)
    assert way_to_answer(asked) == "`planbound gate 'x$(id)'`"


def test_what_is_left_out_is_counted() -> None:
    lines = frame(scene(300, waiting=40), 80, 24, plain)
    assert sum(" more" in line for line in lines) == 2
    assert any(line.startswith("> 00000000") for line in lines)


def test_what_is_chosen_is_seen_however_many_wait() -> None:
    seen = scene(4, waiting=100)._replace(chosen=f"{77:08x}")
    lines = frame(seen, 80, 24, plain)
    assert [line for line in lines if line.startswith(">")] == [
        cut(f"> {77:08x}  step 2 of alpha: {'much to say ' * 30}", 80)
    ]
    assert f"    failure, since 12 min: `planbound inbox --next {77:08x}`" in lines


def test_what_runs_and_what_waits_comes_before_what_is_done() -> None:
    lanes = [Lane.MERGED, Lane.DONE, Lane.READY, Lane.HELD, Lane.WAITING, Lane.RUNNING]
    seen = scene()._replace(plans=[plan(f"p{at}", lane) for at, lane in enumerate(lanes)])
    shown = [line.split()[0] for line in frame(seen, 80, 24, plain) if line.startswith("  p")]
    assert shown == ["p5", "p4", "p3", "p2", "p1", "p0"]


def test_wide_characters_and_hidden_ones_take_no_more_room() -> None:
    seen = scene()._replace(
        plans=[plan("計画" * 20, Lane.RUNNING, "\x1b[2J\u202eevil")],
        waiting=[question("00000000", "全部" * 80 + "\x1b[31m")],
    )
    lines = frame(seen, 80, 24, plain)
    assert max(map(columns_of, lines)) <= 80
    assert not any("\x1b" in line or "\u202e" in line for line in lines)


def test_times_are_told_as_people_do() -> None:
    now = "2026-11-20T12:00:00.000000Z"
    then = ["2026-11-20T11:59:20Z", "2026-11-20T11:48:00Z", "2026-11-20T09:00:00Z",
            "2026-11-18T11:00:00Z", "2026-11-20T12:00:05Z"]  # fmt: skip
    assert [age(each, now) for each in then] == ["40 s", "12 min", "3 h", "2 d", "0 s"]


# -- on a terminal -------------------------------------------------------------------------------


class Watcher:
    """Somebody who watches, on a terminal of a size."""

    def __init__(self, bench: Bench, *arguments: str, **extra: str) -> None:
        self.main, side = pty.openpty()
        self.side = os.dup(side)
        self.before = termios.tcgetattr(self.side)
        self.resize(80, 24)
        usual = {"TERM": "xterm", "PAGER": "cat"}
        environment = bench.environment(**{**usual, **extra})
        place = Place(bench.workspace, environment)
        self.process = Started(("watch", *arguments), place, [side] * 3)
        os.close(side)
        self.seen = ""

    def resize(self, columns: int, lines: int) -> None:
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self.side, termios.TIOCSWINSZ, size)

    def until(self, text: str) -> str:
        """Return what was written up to a text."""
        end = time.monotonic() + SECONDS
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} is not in {self.seen!r}"
            if select.select([self.main], [], [], 1.0)[0]:
                self.seen += os.read(self.main, 65536).decode()
        before, self.seen = self.seen.split(text, 1)
        return before

    def type(self, text: str) -> None:
        os.write(self.main, text.encode())

    def end(self) -> int:
        """Return the exit code; the terminal is as it was before."""
        self.until(LEAVES)
        code = self.process.wait(timeout=SECONDS)
        assert termios.tcgetattr(self.side) == self.before
        os.close(self.side)
        os.close(self.main)
        return code


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(Path(tmp_path_factory.mktemp("watched")))
    made.prepare(Step("make a"), Step("make b", work=NOTHING, fields="**on_fail:** escalate"))
    made.goes("run", code=4)
    return made


@pytest.fixture
def watcher(bench: Bench) -> Iterator[Watcher]:
    found = Watcher(bench, NO_COLOR="1")
    yield found
    found.process.kill()
    found.process.wait(timeout=SECONDS)


def test_it_shows_what_waits_and_leaves_the_terminal_as_it_was(watcher: Watcher) -> None:
    watcher.until(ENTERS)
    shown = watcher.until("q quit")
    assert "plans" in shown
    assert "waits for a person (1)" in shown
    assert "step 2 of PLAN" in shown
    assert "fail" in shown.partition("last verdicts")[2]
    assert "\x1b[3" not in shown, "NO_COLOR"
    watcher.type("q")
    assert watcher.end() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_leaves_the_terminal_as_it_was(
    watcher: Watcher, number: signal.Signals
) -> None:
    watcher.until("q quit")
    watcher.process.send_signal(number)
    assert watcher.end() == 130


def test_it_is_drawn_anew_when_the_terminal_changes(watcher: Watcher) -> None:
    watcher.until("q quit")
    watcher.resize(40, 10)
    watcher.process.send_signal(signal.SIGWINCH)
    assert "\x1b[2J" in watcher.until("n next  e evidence  q quit")
    watcher.type("q")
    assert watcher.end() == 0


def test_the_evidence_is_opened_in_the_pager(watcher: Watcher) -> None:
    watcher.until("q quit")
    watcher.type("e")
    assert watcher.until("  contract:").count(LEAVES) == 1
    shown = watcher.until("enter: back to the plans")
    assert "$ grep -qx right src/b" in shown
    assert "last verdict: fail" in shown
    watcher.type("\n")
    watcher.until(ENTERS)
    watcher.type("q")
    watcher.until("q quit")
    assert watcher.end() == 0


def test_without_a_pager_it_says_so_and_goes_on(bench: Bench) -> None:
    watcher = Watcher(bench, PAGER="/nowhere/pager", NO_COLOR="1")
    watcher.until("q quit")
    watcher.type("e")
    watcher.until("the pager `/nowhere/pager` cannot be started")
    watcher.type("q")
    assert watcher.end() == 0


def test_one_plan_is_watched_with_its_steps(bench: Bench) -> None:
    watcher = Watcher(bench, "PLAN", NO_COLOR="1")
    shown = watcher.until("q quit")
    assert "[✓] 1. make a: done, attempt 1, pass" in shown
    assert "[?] 2. make b: waiting" in shown
    watcher.type("q")
    assert watcher.end() == 0


def test_what_happens_is_seen_without_a_key(bench: Bench) -> None:
    watcher = Watcher(bench, NO_COLOR="1")
    watcher.until("waits for a person (1)")
    bench.goes("new", "fresh")
    watcher.until("fresh")
    watcher.type("q")
    assert watcher.end() == 0


# -- without a terminal --------------------------------------------------------------------------


def test_through_a_pipe_it_is_printed_once(bench: Bench) -> None:
    done = bench.goes("watch", TERM="xterm")
    assert "\x1b" not in done.out
    assert "waits for a person (1)" in done.out
    assert bench.goes("watch", "PLAN").out.count("make b") > 1


def test_a_plan_that_is_not_there_is_named(bench: Bench) -> None:
    assert "there is no plan `nowhere`" in bench.goes("watch", "nowhere", code=2).err


def test_nothing_is_written_by_who_only_watches(bench: Bench, tmp_path: Path) -> None:
    before = len(bench.log())
    bench.goes("watch")
    assert len(bench.log()) == before
    empty = Bench(tmp_path)
    assert "there is no journal" in empty.goes("watch").out
    assert not (tmp_path / "state").exists()
