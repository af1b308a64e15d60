"""The performance page has a row for each goal, and one run of the benchmarks fills it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from benchmarks.__main__ import BENCHMARKS, measure
from benchmarks.measure import read, record, write
from benchmarks.page import ADDRESSES
from benchmarks.row import Row
from benchmarks.rows import sections
from benchmarks.table import few, page
from tests.tables import one_fact

GOALS = {
    "`planbound verify`, 10 steps, whole process": "70 ms",
    "hook: stop, no plan": "30 ms",
    "hook: stop, a judged tree": "60 ms",
    "`planbound receipt`, 100 steps, on a journal of 100,000 events": "1000 ms",
    "`planbound check-receipt` of it": "300 ms",
    **dict.fromkeys(
        (
            f"first byte of `{name}`, 95th of 100"
            for name in (*ADDRESSES, "/journal, 1,000,000 events")
        ),
        "100 ms",
    ),
    "an event, until a browser has the part that shows it, 95th of 100": "300 ms",
    "the same, unchanged, 100,000 files": "250 ms",
    "judged with all evidence, 2 cores": "1.15 x",
    "judged with all evidence, 1 core": "1.5 x",
    "runs of each contract in a plan of one step, to its end": "2",
    "runs of each contract in a plan of three steps": "2",
    "`planbound approve`, the yes after a look": "300 ms",
    "a trivial step in a cell, judged at `E2`, one of 100 files changed": "20 ms",
    "a trivial step in a cell, judged at `E2`, one of 10,000 files changed": "45 ms",
    "a trivial step in a cell, judged at `E2`, one of 100,000 files changed": "350 ms",
    "memory of a run on 100,000 files": "150 MB",
    "the engine's own part of a step, plan of 100": "2 ms",
    "the engine's own part of a step, plan of 1,000": "2 ms",
    "the engine's own part of a step, plan of 5,000": "2 ms",
    "a step of 5,000 to one of 100": "flat",
    "resume after a kill, 4,999 of 5,000 settled": "500 ms",
}
FLOORS = ("python -c pass", "waits 1 bare", "waits 2 bare")


def everything(value: float) -> dict[str, Mapping[str, float]]:
    """Numbers of all benchmarks, all the same, but for what others are held against."""
    floors = dict.fromkeys(FLOORS, 1.0) | {"step of 100": value / 2 if value > 1 else value}
    return {name: defaultdict(lambda: value, floors) for name in BENCHMARKS}


def aims(value: float) -> dict[str, Row]:
    rows = [row for found in sections(everything(value)).values() for row in found]
    return {row.name: row for row in rows if row.goal is not None}


def test_every_goal_is_a_row() -> None:
    assert set(aims(1.0)) == set(GOALS)


@one_fact("name, told", list(GOALS.items()))
def test_a_goal_says_that_it_is_met(name: str, told: str) -> None:
    met = aims(0.001)[name].outcome
    assert told in met
    assert met.endswith(", met")


@one_fact("name, told", list(GOALS.items()))
def test_a_goal_that_is_missed_says_why(name: str, told: str) -> None:
    said, _, reason = aims(1000.0)[name].outcome.partition(", missed: ")
    assert told in said
    assert len(reason.split()) > 5


def test_the_readme_has_ten_rows() -> None:
    assert len(few(everything(1.0))) == 10


def test_what_was_not_measured_has_no_row() -> None:
    text = page({"fold": {"fold 5000": 0.2}})
    assert text.count("\n## ") == 1
    assert "| fold the events of 5,000 steps | 200.0 ms |" in text
    assert "nan" not in text


def test_a_whole_run_begins_without_numbers_and_says_when_it_was(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write({"start": {"old": 1.0}, "gone": {"old": 1.0}}, path)

    def run(name: str) -> int:
        record(name, {"new": 2.0}, path)
        return 0

    assert measure([], run, path) == []
    results = read(path)
    assert results.keys() == {*BENCHMARKS, "measured"}
    assert results["start"] == {"new": 2.0}
    assert f"All rows come from one run on {results['measured']['date']}" in page(results)


def test_what_breaks_stops_nothing_and_is_told_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "results.json"

    def run(name: str) -> int:
        if name != "hook":
            record(name, {"new": 2.0}, path)
        return int(name in {"start", "hook"})

    assert measure([], run, path) == [
        "start: a limit is broken",
        "hook: ended with 1 before it had its numbers",
    ]
    assert read(path).keys() == {*BENCHMARKS, "measured"} - {"hook"}


def test_a_part_keeps_the_numbers_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    old: dict[str, object] = {"measured": {"date": "2026-11-18", "cores": 2, "minutes": 20.0}}
    write(old | {"start": {"old": 1.0}, "hook": {"old": 1.0}, "judge": {"old": 1.0}}, path)

    def run(name: str) -> int:
        if name == "judge":
            return 2
        record(name, {"new": 2.0}, path)
        return 0

    assert measure(["judge", "hook"], run, path) == [
        "judge: ended with 2 before it had its numbers"
    ]
    results = json.loads(path.read_text())
    assert results == {"start": {"old": 1.0}, "hook": {"new": 2.0}, "judge": {"old": 1.0}}
    assert "These rows come from several runs." in page(results)
