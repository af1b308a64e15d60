"""What a command may use, and that the next one is not worse off for it."""

from __future__ import annotations

import signal

import pytest

from planbound.cells.cell import CommandEnding, Limits
from tests.cells import cell_bench
from tests.cells.cell_bench import ALL, Bench, cells

pytestmark = pytest.mark.requirement("shell.limits")

bench = cell_bench.bench

_PYTHON = "exec /usr/bin/python3 -c '{}'"


@pytest.mark.thorough
def test_a_command_that_runs_too_long_has_timed_out(bench: Bench) -> None:
    outcome = bench.run("echo started; trap '' TERM; sleep 60", limits=Limits(seconds=0.5))
    assert outcome.ending is CommandEnding.TIMED_OUT
    assert (outcome.exit_code, outcome.signal) == (None, None)
    assert "0.5 s" in outcome.reason
    assert outcome.stdout.text() == "started\n"
    assert bench.works()


def test_a_command_that_takes_too_much_memory_has_exhausted_it(bench: Bench) -> None:
    script = _PYTHON.format('import time; held = bytearray(b"x") * (400 << 20); time.sleep(20)')
    outcome = bench.run(script, limits=Limits(seconds=20, memory=128 << 20))
    assert outcome.ending is CommandEnding.EXHAUSTED
    assert "128 MiB of memory" in outcome.reason
    assert bench.works()


def test_memory_is_that_of_all_processes_together(bench: Bench) -> None:
    one = _PYTHON.format('import time; held = bytearray(b"x") * (60 << 20); time.sleep(20)')
    script = f"for _ in 1 2 3 4; do ({one}) & done; wait"
    outcome = bench.run(script, limits=Limits(seconds=20, memory=160 << 20))
    assert outcome.ending is CommandEnding.EXHAUSTED
    assert bench.works()


@cells("namespaces", "copy")
def test_memory_that_is_shared_counts(bench: Bench) -> None:
    script = _PYTHON.format(
        "import mmap, time; held = mmap.mmap(-1, 400 << 20); "
        "[held.write(bytes([1]) * (1 << 20)) for _ in range(400)]; time.sleep(1)"
    )
    outcome = bench.run(script, limits=Limits(seconds=20, memory=128 << 20))
    assert outcome.ending is CommandEnding.EXHAUSTED


def test_a_command_that_starts_too_many_processes_has_exhausted_them(bench: Bench) -> None:
    script = "for _ in $(seq 60); do sleep 20 & done; wait"
    outcome = bench.run(script, limits=Limits(seconds=20, processes=30))
    assert outcome.ending is CommandEnding.EXHAUSTED
    assert "30 processes" in outcome.reason
    assert bench.works()


_FILL = "head -c 40M /dev/zero > {}/large; sleep 1"


@cells(*ALL)
def test_a_command_that_fills_the_tree_has_exhausted_the_space(bench: Bench) -> None:
    outcome = bench.run(_FILL.format("."), limits=Limits(seconds=20, temporary=16 << 20))
    assert outcome.ending is CommandEnding.EXHAUSTED
    assert "16 MiB" in outcome.reason
    assert bench.works()


@pytest.mark.parametrize("place", ["${TMPDIR:-/tmp}", "$HOME"])
@cells(*ALL)
def test_a_command_that_fills_its_rooms_has_exhausted_the_space(bench: Bench, place: str) -> None:
    outcome = bench.run(_FILL.format(place), limits=Limits(seconds=20, temporary=16 << 20))
    assert outcome.ending is CommandEnding.EXHAUSTED
    assert bench.works()


@cells("namespaces")
def test_all_rooms_together_have_one_limit(bench: Bench) -> None:
    script = "for p in . /tmp /var/tmp /run /dev/shm; do head -c 5M /dev/zero > $p/f; done; sleep 1"
    outcome = bench.run(script, limits=Limits(seconds=20, temporary=16 << 20))
    assert outcome.ending is CommandEnding.EXHAUSTED


@cells(
    *ALL,
)
def test_an_agent_that_fills_its_rooms_has_exhausted_the_space(bench: Bench) -> None:
    limits = Limits(seconds=20, temporary=16 << 20)
    outcome = bench.run(_FILL.format("$HOME"), limits=limits, writable=True)
    assert outcome.ending is CommandEnding.EXHAUSTED


@cells(*ALL)
def test_a_command_that_makes_too_many_files_has_exhausted_them(bench: Bench) -> None:
    script = "for n in $(seq 2000); do : > f$n || break; done; sleep 1"
    outcome = bench.run(script, limits=Limits(seconds=20, inodes=300))
    assert outcome.ending is CommandEnding.EXHAUSTED
    assert "300 files" in outcome.reason
    assert bench.works()


def test_a_file_does_not_grow_past_its_limit(bench: Bench) -> None:
    script = "exec head -c 5M /dev/zero > large"
    outcome = bench.run(script, limits=Limits(seconds=20, file_size=1 << 20), collect=("large",))
    assert (outcome.ending, outcome.signal) == (CommandEnding.SIGNALLED, signal.SIGXFSZ)
    assert len(outcome.collected["large"]) == 1 << 20
    assert bench.works()


def test_no_core_is_left(bench: Bench) -> None:
    outcome = bench.run("ulimit -c; kill -SEGV $$")
    assert outcome.stdout.text() == "0\n"
    assert outcome.written == ()
