"""No cell at all: a plain process in the workspace, with a limit, and nobody left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Ending
from planbound.errors import CellProblem
from planbound.ports.cell import Laid, Limits
from planbound.shell.cell.warden import Warden
from tests.shell import cell_bench
from tests.shell.cell_bench import Bench, at_most, cells, end, nap, running, wait_until

pytestmark = cells("bare")

bench = cell_bench.bench


def test_it_says_what_it_is(bench: Bench) -> None:
    assert (bench.cell.name, bench.cell.isolation) == ("no cell", Isolation.I0)


def test_the_command_runs_in_the_workspace_itself(bench: Bench) -> None:
    bench.write("there", "yes\n")
    said = bench.says(
        "pwd -P; cat there; echo x > made; echo $W $HOME",
        environment={"PATH": cell_bench.PATH, "W": "{workspace}", "HOME": "{home}"},
    )
    home = os.path.expanduser("~")
    assert said == f"{bench.workspace}\nyes\n{bench.workspace} {home}\n"
    assert bench.names() == ["made", "there"]


def test_nothing_else_is_in_its_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    said = bench.says("", command=("/usr/bin/env",), environment={"A": "b"})
    assert said == "A=b\n"


@pytest.mark.parametrize("code", [0, 1, 77, 255])
def test_the_exit_code_is_the_commands(bench: Bench, code: int) -> None:
    outcome = bench.run(f"echo out; echo err >&2; exit {code}")
    assert (outcome.ending, outcome.exit_code) == (Ending.EXITED, code)
    assert (outcome.stdout.text(), outcome.stderr.text()) == ("out\n", "err\n")
    assert outcome.duration > 0


def test_a_signal_is_told(bench: Bench) -> None:
    outcome = bench.run("kill -SEGV $$")
    assert (outcome.ending, outcome.signal) == (Ending.SIGNALLED, signal.SIGSEGV)
    assert outcome.exit_code is None


@pytest.mark.parametrize("program", ["/no/such/program", "/etc/passwd", "/tmp"])
def test_what_cannot_be_started_is_said(bench: Bench, program: str) -> None:
    outcome = bench.run("", command=(program,))
    assert outcome.ending is Ending.NOT_STARTED
    assert program in outcome.reason


def test_a_workspace_that_is_not_there_is_said(bench: Bench) -> None:
    outcome = bench.run("true", workspace=str(bench.folder / "missing"))
    assert outcome.ending is Ending.NOT_STARTED
    assert "missing" in outcome.reason


def test_nothing_is_laid_into_the_workspace(bench: Bench) -> None:
    with pytest.raises(CellProblem, match="laid"):
        bench.run("true", lay=(Laid("new", b"x"),))
    assert bench.names() == []


def test_what_only_a_cell_can_do_is_left_undone(bench: Bench) -> None:
    bench.write("kept", "kept\n")
    said = bench.says("cat kept", remove=("kept",), masked=(str(bench.workspace),))
    assert said == "kept\n"


def test_all_of_the_output_is_counted_and_both_ends_are_kept(bench: Bench) -> None:
    outcome = bench.run("echo first; seq 1000000; echo last", needles=(b"500000", b"no such"))
    assert outcome.stdout.head.startswith(b"first\n1\n")
    assert outcome.stdout.tail.endswith(b"1000000\nlast\n")
    assert outcome.stdout.length == 6888896 + len("first\nlast\n")
    assert outcome.stdout.found == {b"500000"}


def test_a_command_that_runs_too_long_is_ended_with_its_children(bench: Bench) -> None:
    word = nap()
    outcome = bench.run(f"echo x; sleep {word} & sleep {word}", limits=Limits(seconds=0.3))
    assert outcome.ending is Ending.TIMED_OUT
    assert outcome.stdout.text() == "x\n"
    assert not running(word)


LEFT = [
    "sleep {word} > /dev/null 2>&1 &",
    "(sleep {word} > /dev/null 2>&1 &)",
    "(setsid sleep {word} &)",
    "(setsid sleep {word} > /dev/null &)",
    "(trap '' HUP INT TERM; sleep {word} & ) > /dev/null 2>&1",
    "set -m; sleep {word} > /dev/null 2>&1 &",
    "sleep {word} & kill -STOP $!",
]


@pytest.mark.parametrize("way", LEFT)
def test_what_a_command_leaves_behind_is_ended(bench: Bench, way: str) -> None:
    word = nap()
    script = f"{way.format(word=word)}\nuntil pgrep -f 'sleep {word}' > /dev/null; do :; done"
    with at_most(20):
        outcome = bench.run(script)
        assert (outcome.ending, outcome.exit_code) == (Ending.EXITED, 0), outcome
        assert outcome.leftovers == 1
        assert wait_until(lambda: not running(word), 5)


def test_who_left_with_a_session_and_no_output_is_nobody_it_can_find(bench: Bench) -> None:
    word = nap()
    try:
        with at_most(20):
            outcome = bench.run(
                f"(setsid sleep {word} > /dev/null 2>&1 < /dev/null &)\n"
                f"until pgrep -xf 'sleep {word}' > /dev/null; do :; done"
            )
        assert outcome.exit_code == 0
        assert len(running(word)) == 1
    finally:
        end(word)


def test_many_threads_run_commands_side_by_side(bench: Bench) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        for each in range(25):
            text = f"{number} {each}"
            outcome = bench.run(f"echo {text}; (sleep 0 &); cat; exit {each}", stdin=text.encode())
            if (outcome.exit_code, outcome.stdout.text()) != (each, f"{text}\n{text}"):
                wrong.append(outcome)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_interruption_leaves_nothing(bench: Bench) -> None:
    word = nap()

    def interrupt() -> None:
        wait_until(lambda: len(running(word)) == 2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        bench.run(f"sleep {word} & sleep {word}; true")
    thread.join()
    assert not running(word)
    assert bench.works()


_ENDING = """
import sys
from planbound.ports.cell import Request
from planbound.shell.cell.bare import BareCell
cell = BareCell()
cell.run(Request(("/bin/true",), "/", {}))
print("ran", flush=True)
"""


def test_a_harness_that_ends_takes_its_warden_with_it(bench: Bench, tmp_path: Path) -> None:
    # Whoever holds the pipe would keep it open.
    done = subprocess.run(
        [sys.executable, "-c", _ENDING], cwd=tmp_path, capture_output=True, timeout=30, check=True
    )
    assert (done.stdout, done.stderr) == (b"ran\n", b"")
    assert bench.works()


def test_no_more_commands_are_noted_than_there_are_places(bench: Bench) -> None:
    assert bench.works()
    warden = Warden()
    warden._free.clear()
    with pytest.raises(CellProblem, match="at once"), warden.place((1, 2)):
        pass
