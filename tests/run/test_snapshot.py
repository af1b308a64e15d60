"""What is kept of a run for who goes on with it: it spares time, and changes nothing."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.journal.record import Head, Query, Record
from planbound.journal.sqlite import SqliteJournal
from planbound.plan.edit import mark_progress
from planbound.plan.model import Plan, PlanStatus, StepStatus
from planbound.plan.parse import parse
from planbound.run import snapshot
from planbound.run.snapshot import Snapshots
from planbound.state.plan import PlanState, fold, plan_state
from planbound.testing.journal import MemoryJournal
from tests.run.bench import Bench, Step
from tests.state.test_one_state import LIVES, PLAN, E, Told, records

A, B, C = Step("Make a"), Step("Make b"), Step("Make c")
TEXT = PLAN.source.to_bytes()


def kept_in(folder: Path, slug: str = "it") -> Snapshots:
    return Snapshots(str(folder), slug, worth=0)


def journal_of(life: list[Record]) -> MemoryJournal:
    journal = MemoryJournal()
    journal.append([record.draft for record in life])
    return journal


def keep(place: Snapshots, journal: MemoryJournal, upto: int) -> PlanState:
    """Keep the state after so many events of a journal."""
    records = list(journal.read(Query()))[:upto]
    state = fold(records)["it"]
    place.keep_state(state, Head(records[-1].seq, records[-1].hash))
    return state


@given(LIVES, st.data())
def test_a_state_that_was_kept_goes_on_as_one_that_is_folded_from_the_start(
    tmp_path_factory: pytest.TempPathFactory, life: list[Record], data: st.DataObject
) -> None:
    place, journal = kept_in(tmp_path_factory.mktemp("kept")), journal_of(life)
    upto = data.draw(st.integers(1, len(life)))
    before = keep(place, journal, upto)
    assert place.fold(journal) == fold(journal.read(Query()))["it"]
    # What was kept is a value of its own: what happens to the first one does not reach it.
    for record in list(journal.read(Query()))[upto:]:
        before.apply(record)
    assert place.fold(journal) == before


def lived(*, with_run: str = "r1") -> MemoryJournal:
    """Return a journal in which something happened; two of them differ by the name of the run."""
    begun: Told = (E.EXECUTION_STARTED, None, {"run": with_run, "nonce": "n", "digest": "d1"})
    step: Told = (E.TASK_STARTED, PLAN.steps[0].id, {"attempt": 1})
    return journal_of(records([(E.PLAN_CREATED, None, {"digest": "d1"}), begun, step]))


Damage = Callable[[Path], object]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut, flip, empty, os.unlink])
@pytest.mark.parametrize("end", [".state", ".state.key", ".plan", ".plan.key"])
def test_what_is_damaged_is_made_anew(tmp_path: Path, end: str, damage: Damage) -> None:
    place, journal = kept_in(tmp_path), lived()
    keep(place, journal, 3)
    place.keep_plan(PLAN, TEXT)
    (path,) = [each for each in tmp_path.iterdir() if each.name.endswith(end)]
    damage(path)
    assert (place.fold(journal) is None) is ("state" in end)
    assert place.parse(TEXT, path="PLAN.md").steps == PLAN.steps


def test_a_state_of_another_journal_counts_for_nothing(tmp_path: Path) -> None:
    place = kept_in(tmp_path)
    keep(place, lived(), 3)
    assert place.fold(lived(with_run="r2")) is None
    assert place.fold(MemoryJournal()) is None
    assert kept_in(tmp_path, "other").fold(lived()) is None


def test_what_other_code_made_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, journal = kept_in(tmp_path), lived()
    keep(place, journal, 3)
    place.keep_plan(PLAN, TEXT)
    monkeypatch.setattr(snapshot, "own_code", lambda *_parts: "another")
    assert place.fold(journal) is None
    assert place.parse(TEXT, path="PLAN.md").source.text == PLAN.source.text


def forge(place: Snapshots, folder: Path, end: str, value: object) -> None:
    """Put another value in the place of one that is kept, with a key that fits it."""
    (path,) = [each for each in folder.iterdir() if each.name.endswith(end)]
    path.write_bytes(pickle.dumps(value))
    key = json.loads(Path(f"{path}.key").read_text())
    key[2] = snapshot._digest(path.read_bytes())
    Path(f"{path}.key").write_text(json.dumps(key))


class Command:
    """What runs a command when it is read by `pickle` itself."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.file),)


def test_reading_what_somebody_put_there_calls_nothing(tmp_path: Path) -> None:
    place, journal, made = kept_in(tmp_path / "kept"), lived(), tmp_path / "made"
    keep(place, journal, 3)
    place.keep_plan(PLAN, TEXT)
    for end, value in ((".state", Command(made)), (".plan", Command(made)), (".state", "text")):
        forge(place, tmp_path / "kept", end, value)
        assert place.fold(journal) is None or end == ".plan"
        assert place.parse(TEXT, path="PLAN.md").steps == PLAN.steps
    assert not made.exists()
    pickle.loads(pickle.dumps(Command(made)))
    assert made.exists()


def approved(state: PlanState) -> None:
    state.approval.approved = "d2"


def proved(state: PlanState) -> None:
    state.steps[PLAN.steps[0].id].status = StepStatus.DONE


def unused(state: PlanState) -> None:
    state.approval.used.clear()


@pytest.mark.parametrize("lie", [approved, proved, unused])
def test_a_state_that_claims_what_the_journal_does_not_tell_counts_for_nothing(
    tmp_path: Path, lie: Callable[[PlanState], None]
) -> None:
    place, journal = kept_in(tmp_path), lived()
    *_, last = journal.read(Query())
    state = keep(place, journal, 3)
    assert place.fold(journal) == state
    lie(state)
    kept_in(tmp_path).keep_state(state, Head(last.seq, last.hash))
    assert kept_in(tmp_path).fold(journal) is None


def test_a_plan_is_found_by_the_text_with_the_marks_and_by_no_other(tmp_path: Path) -> None:
    place = kept_in(tmp_path)
    place.keep_plan(PLAN, TEXT)
    marked = mark_progress(PLAN, PlanStatus.IN_PROGRESS, [StepStatus.DONE] * 2).to_bytes()
    place.keep_plan(PLAN, marked)
    assert place.parse(marked, path="PLAN.md").source.text == PLAN.source.text
    for other in (TEXT, marked.replace(b"one", b"eno")):
        assert place.parse(other, path="PLAN.md").source.to_bytes() == other
    assert place.parse(marked, path="other.md").source.path == "other.md"


def test_small_plans_and_runs_that_are_over_leave_nothing(tmp_path: Path) -> None:
    Snapshots(str(tmp_path / "small"), "it").keep_plan(PLAN, TEXT)
    assert not (tmp_path / "small").exists()
    place = kept_in(tmp_path)
    place.keep_plan(PLAN, TEXT)
    keep(place, lived(), 3)
    place.forget()
    assert not list(tmp_path.iterdir())


# -- in a run ------------------------------------------------------------------------------------


def killed(bench: Bench) -> tuple[Snapshots, Plan]:
    """Let a run be killed when its first step is proved; keep what it had come to by then."""
    bench.prepare(A, B, C)
    killed = bench.run("run", "PLAN", PLANBOUND_FAILPOINT="before:TASK_STARTED:2")
    assert killed.code not in {0, 1}
    data = bench.plan_file.read_bytes()
    plan = parse(data, path=".harness/PLAN.md")
    place = kept_in(bench.folder / "state" / "snapshots", "PLAN")
    place.keep_plan(plan, data)
    journal = SqliteJournal(str(bench.folder / "state" / "journal.sqlite"))
    state = plan_state(journal, "PLAN")
    assert state is not None
    (last,) = journal.read(Query(plan="PLAN", last=1))
    place.keep_state(state, Head(last.seq, last.hash))
    assert place.fold(journal) == state
    assert place.parse(data, path=".harness/PLAN.md").source.text == plan.source.text
    journal.close()
    return place, plan


@pytest.mark.thorough
def test_a_run_goes_on_from_what_was_kept(bench: Bench) -> None:
    killed(bench)
    bench.goes("resume", "PLAN")
    log = bench.log()
    assert log.last["status"] == "done"
    assert [event.number for event in log.of("TASK_STARTED")] == ["1", "2", "3"]
    assert not list((bench.folder / "state" / "snapshots").iterdir())


@pytest.mark.thorough
def test_a_plan_that_was_edited_is_refused_whatever_was_kept(bench: Bench) -> None:
    killed(bench)
    text = bench.plan_file.read_bytes()
    bench.plan_file.write_bytes(text.replace(b"Write what", b"Write all that"))
    refused = bench.goes("resume", "PLAN", code=2)
    assert "digest changed" in refused.err


@pytest.mark.thorough
def test_a_plan_that_somebody_put_there_is_not_the_one_that_was_approved(bench: Bench) -> None:
    place, plan = killed(bench)
    data = bench.plan_file.read_bytes()
    easier = parse(data.replace(b"grep -qx", b"true ||"), path=plan.source.path)
    assert [each.contract for each in easier.steps] != [each.contract for each in plan.steps]
    place.keep_plan(easier, data)
    refused = bench.goes("resume", "PLAN", code=2)
    assert "digest changed" in refused.err
    assert len(bench.log().of("TASK_STARTED")) == 1
