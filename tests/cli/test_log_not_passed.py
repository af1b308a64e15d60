"""`planbound log --not-passed`: what failed, was refused or is asked, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planbound.journal.event import EventKind
from planbound.journal.shortfall import KINDS
from tests.run.bench import NOTHING, Bench, Step

pytestmark = pytest.mark.requirement("log.not-passed")
_NEVER = {"PLAN_CREATED", "GATE_APPROVED", "TASK_STARTED", "TASK_COMPLETED", "BASELINE_OBSERVED"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(Path(tmp_path_factory.mktemp("short")))
    made.prepare(Step("make a"), Step("make b", work=NOTHING, fields="**on_fail:** escalate"))
    made.goes("run", code=4)
    return made


def lines(bench: Bench, *arguments: str) -> list[dict[str, Any]]:
    out = bench.goes("log", "--json", *arguments).out
    return [json.loads(line) for line in out.splitlines()]


def test_what_passed_is_left_out_and_what_did_not_is_there(bench: Bench) -> None:
    found = lines(bench, "--not-passed")
    kinds = {each["event"] for each in found}
    assert {"CONTRACT_EVALUATED", "FAILURE_DETECTED", "RECOVERY_ESCALATION"} <= kinds
    assert not kinds & _NEVER
    verdicts = [each for each in found if each["event"] == "CONTRACT_EVALUATED"]
    assert [each["details"]["verdict"] for each in verdicts] == ["fail"]
    assert len(lines(bench, "--event", "CONTRACT_EVALUATED")) > 1, "the first step passed"


def test_the_last_ones_are_counted_after_the_rest_is_left_out(bench: Bench) -> None:
    every = lines(bench, "--not-passed")
    assert lines(bench, "--not-passed", "--last", "2") == every[-2:]
    assert len(lines(bench, "--last", "2")) == 2
    assert lines(bench, "--last", "2") != every[-2:], "a pause follows the question"


def test_it_goes_together_with_an_event_a_task_and_a_plan(bench: Bench) -> None:
    found = lines(bench, "PLAN", "--not-passed", "--event", "contract-evaluated", "--task", "2")
    assert [each["details"]["verdict"] for each in found] == ["fail"]
    assert lines(bench, "--not-passed", "--task", "1") == []


def test_an_event_that_never_tells_of_it_is_refused(bench: Bench) -> None:
    done = bench.goes("log", "--not-passed", "--event", "GATE_APPROVED", code=2)
    assert "`GATE_APPROVED` never tells of anything that did not pass" in done.err


def test_every_verdict_that_is_no_pass_is_asked_for(bench: Bench) -> None:
    assert EventKind.CONTRACT_EVALUATED in KINDS
    assert len(KINDS) == len(set(KINDS))
    assert "failed" in bench.goes("log", "--not-passed").out
