"""When a cell has ended nothing of it is alive, however it was started and however it ended."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from planbound.cells.cell import CommandEnding, Limits
from planbound.errors import CellProblem
from tests.cells import cell_bench
from tests.cells.cell_bench import Bench, at_most, cells, end, nap, running, wait_until

pytestmark = pytest.mark.requirement("shell.nothing-left")

bench = cell_bench.bench

DAEMONS = """
for _ in $(seq 10); do (setsid nohup sleep {word} > /dev/null 2>&1 &); done
for _ in $(seq 9); do (trap '' TERM HUP INT; sleep {word} &); done
/usr/bin/python3 -c '
import os, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in set(signal.valid_signals()) - {{signal.SIGKILL, signal.SIGSTOP}}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                pass
        os.execv("/bin/sleep", ["sleep", "{word}"])
    os._exit(0)
os.wait()
'
"""

# Each of them lives only long enough to start the next one; a clock ends them in any case.
WALKERS = """
import os, time
until = time.monotonic() + 25
for _ in range(20):
    if os.fork() == 0:
        while time.monotonic() < until:
            if os.fork():
                os._exit(0)
            os.setsid()
        os._exit(0)
print("started", flush=True)
"""


def test_daemons_are_dead_when_the_command_has_ended(bench: Bench) -> None:
    word = nap()
    outcome = bench.run(DAEMONS.format(word=word))
    assert (outcome.ending, outcome.exit_code) == (CommandEnding.EXITED, 0)
    assert outcome.leftovers >= 20
    assert not running(word)


@pytest.mark.thorough
def test_daemons_are_dead_at_the_time_limit(bench: Bench) -> None:
    word = nap()
    script = f"trap '' TERM; {DAEMONS.format(word=word)}\nsleep {word}"
    outcome = bench.run(script, limits=Limits(seconds=1))
    assert outcome.ending is CommandEnding.TIMED_OUT
    assert not running(word)


def test_daemons_are_dead_when_a_limit_is_exceeded(bench: Bench) -> None:
    word = nap()
    script = f"{DAEMONS.format(word=word)}\nfor _ in $(seq 40); do sleep {word} & done; wait"
    outcome = bench.run(script, limits=Limits(seconds=30, processes=40))
    assert outcome.ending is CommandEnding.EXHAUSTED
    assert not running(word)


def test_processes_that_only_start_others_are_dead_too(bench: Bench) -> None:
    word = nap()
    with at_most(40):
        outcome = bench.run("", command=("/usr/bin/python3", "-c", WALKERS, word))
    assert outcome.stdout.text() == "started\n"
    assert not running(word)


def test_a_stopped_process_is_dead_too(bench: Bench) -> None:
    word = nap()
    outcome = bench.run(f"sleep {word} & kill -STOP $!")
    assert outcome.leftovers == 1
    assert not running(word)


@pytest.mark.thorough
def test_an_interrupted_harness_leaves_nothing(bench: Bench) -> None:
    word = nap()
    with bench.harness(f"{DAEMONS.format(word=word)}\nsleep {word}") as process:
        assert wait_until(lambda: len(running(word)) == 21)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        assert not running(word)
    assert bench.rooms() == []


def test_a_killed_harness_leaves_nothing(bench: Bench) -> None:
    word = nap()
    with bench.harness(f"{DAEMONS.format(word=word)}\nsleep {word}") as process:
        assert wait_until(lambda: len(running(word)) == 21)
        process.kill()
        process.wait(timeout=30)
        assert wait_until(lambda: not running(word))
    assert bench.works()


def test_what_a_killed_harness_left_in_memory_is_swept(bench: Bench) -> None:
    word = nap()
    with bench.harness(f"sleep {word}") as process:
        assert wait_until(lambda: running(word))
        process.kill()
        process.wait(timeout=30)
        assert wait_until(lambda: not running(word))
        number = process.pid
    assert bench.works()
    rooms = [*os.listdir("/dev/shm"), *bench.rooms()]
    assert not [name for name in rooms if name.startswith(f"planbound-cell-{number}-")]


@cells("namespaces", "copy")
def test_an_interruption_in_the_same_process_leaves_nothing(bench: Bench) -> None:
    word = nap()

    def interrupt() -> None:
        wait_until(lambda: running(word))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        bench.run(f"(setsid sleep {word} &); sleep {word}")
    thread.join()
    assert not running(word)
    assert bench.works()


def test_cells_of_several_threads_do_not_end_each_other(bench: Bench) -> None:
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda: results.append(bench.says("sleep 0.3; echo done")))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["done\n"] * 3


def test_a_keeper_that_is_told_to_end_ends_its_family_first(bench: Bench) -> None:
    word = nap()
    bench.run(f"(setsid sleep {word} &); kill -TERM $PPID; exit 0")
    assert not running(word)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["INT", "HUP", "KILL"])
@cells(*cell_bench.ALL)
def test_a_command_that_ends_its_keeper_does_not_outlive_it(bench: Bench, name: str) -> None:
    if name == "KILL" and bench.kind == "copy":
        pytest.skip("without walls a command can kill whom it likes; the docs say so")
    word = nap()
    try:
        with at_most(15):
            bench.run(
                f"sleep {word} & until grep -qx sleep /proc/$!/comm; do :; done; "
                f"kill -{name} $PPID; wait",
                limits=Limits(seconds=1),
            )
        assert not running(word)
    except CellProblem as problem:
        raise AssertionError(f"it is said that nothing was run: {problem}") from problem
    finally:
        end(word)
