"""What a kill leaves in the state home goes with the next command, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planbound.cells.scratch import held, is_abandoned, mark
from planbound.doctor.gc import runs_that_are_over
from planbound.journal.event import EventKind
from planbound.journal.record import Record
from tests.journal.child import draft
from tests.run.bench import Bench
from tests.run.matrix import GUIDANCE, RUN, Rig, left_in

pytestmark = pytest.mark.requirement("state.swept")


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return Rig(tmp_path_factory.mktemp("cell"))


@pytest.mark.thorough
def test_what_a_killed_run_can_go_on_with_stays_and_the_rest_goes(cell: Rig) -> None:
    # Where a copy is half made another step has its own already; which change that is, varies.
    for number in sorted(range(90, 140, 2), key=lambda each: abs(each - 114)):
        with cell.approved() as bench:
            bench.goes(*RUN, code=-9, PLANBOUND_FAILPOINT=f"change:{number}")
            if any("unfinished" in name for name in left_in(bench)):
                _goes_on(bench)
                return
    pytest.fail("no kill came in the middle of a copy")


def _goes_on(bench: Bench) -> None:
    left = left_in(bench)
    shown = bench.run("doctor", "--json").json["checks"]
    (check,) = [each for each in shown if each["name"] == "left behind"]
    assert (check["health"], "copy of the workspace" in check["message"]) == ("WARN", True)
    assert left_in(bench) == left, "doctor repairs nothing"
    bench.goes("status", "PLAN")
    whole = [name for name in left if name.startswith("copies/") and "unfinished" not in name]
    assert left_in(bench) == whole
    bench.goes(*RUN, code=4)
    (copy,) = left_in(bench)
    bench.goes("list")
    assert left_in(bench) == [copy], "the step that waits for a person goes on in it"
    bench.answer("retry", *GUIDANCE)
    # The end is on record, and nothing was cleared away.
    bench.goes(*RUN, code=-9, PLANBOUND_FAILPOINT="after:EXECUTION_COMPLETE:1")
    for name in (copy, copy.replace("copies", "homes"), "homes/01234567-1"):
        (bench.folder / "state" / name).mkdir(parents=True, exist_ok=True)
    bench.goes("log")
    assert left_in(bench) == ["homes/01234567-1"], "nobody knows whose that is"
    assert bench.status()["ended"] == "done"


def test_a_folder_is_abandoned_only_when_nobody_can_have_it(tmp_path: Path) -> None:
    number, _, realm = mark().partition(".")
    with subprocess.Popen(["true"]) as process:
        process.wait()
    dead = str(process.pid)
    folder = str(tmp_path)
    assert not is_abandoned(folder, number)
    assert not is_abandoned(folder, mark())
    assert is_abandoned(folder, dead)
    assert is_abandoned(folder, f"{dead}.{realm}")
    # A process of another container: its number says nothing, and it may be about to lock.
    assert not is_abandoned(folder, f"{dead}.1")
    assert not is_abandoned(folder, "x")


def test_a_folder_of_another_container_is_told_by_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planbound.cells.scratch._YOUNG", -1.0)
    folder = str(tmp_path)
    assert is_abandoned(folder, "1.1")
    with held(folder):
        assert not is_abandoned(folder, "1.1")
    script = f"import os; from planbound.cells.scratch import held\nwith held({folder!r}): "
    with subprocess.Popen(
        [sys.executable, "-c", f"{script}os.write(1, b'x'); os.read(0, 1)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.read(1) == b"x"
        assert not is_abandoned(folder, "1.1")
        holder.kill()
        holder.wait()
    assert is_abandoned(folder, "1.1")
    assert os.path.isdir(folder)


COUNTS = dict.fromkeys(("completed", "failed", "skipped", "waived", "recoveries", "tokens"), 0)
DETAILS: dict[EventKind, dict[str, Any]] = {
    EventKind.PLAN_CREATED: {"task_count": 1, "dependencies": {}},
    EventKind.EXECUTION_STARTED: {"nonce": "n"},
    EventKind.EXECUTION_COMPLETE: {**COUNTS, "duration": 1},
}


def events(*said: tuple[EventKind, str, str, str | None]) -> list[Record]:
    return [
        Record(number, number, draft(
            str(number), event=kind, plan=plan, run=run, status=status, **DETAILS[kind]), 1, "", "")
        for number, (kind, plan, run, status) in enumerate(said, 1)
    ]  # fmt: skip


def test_a_run_is_over_when_nobody_can_go_on_with_it() -> None:
    begun, ended = EventKind.EXECUTION_STARTED, EventKind.EXECUTION_COMPLETE
    told = events(
        (begun, "a", "a1", None),
        (ended, "a", "a1", "cancelled"),
        (begun, "a", "a2", None),
        (begun, "b", "b1", None),
        (ended, "b", "b1", "failed"),
        (begun, "c", "c1", None),
        (ended, "c", "c1", "done"),
        (begun, "d", "d1", None),
        (begun, "d", "d2", None),
        (begun, "e", "e1", None),
        (EventKind.PLAN_CREATED, "e", "", None),
    )
    assert runs_that_are_over(told, ()) == {"a1", "c1", "d1", "e1"}
    assert runs_that_are_over(told, {"c", "a"}) == {"d1", "e1"}
