"""Judging without a cell: fast, in the workspace itself, and never more than E1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planbound.engine.configuration import read_configuration
from planbound.engine.judging.meaning import meaning
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.engine.judging.verdict import VerdictKind
from planbound.errors import ConfigurationError
from tests.cli.test_judge import Project, plan_text

pytestmark = pytest.mark.requirement("judging.bare")


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.write("planbound.toml", "[judging]\nbare = true\n")
    return project


@pytest.mark.parametrize(
    "demand",
    [
        {"isolation": "I1"},
        {"isolation": "I2"},
        {"evidence": "E2"},
        {"evidence": "E3"},
        {"held_out": ["/judges/x.py"]},
    ],
)
def test_who_demands_a_cell_cannot_have_none(demand: dict[str, Any]) -> None:
    (key,) = demand
    with pytest.raises(ConfigurationError, match=f"`judging.bare`.*`{key}`"):
        read_configuration({"judging": {"bare": True, **demand}}, path="planbound.toml")
    assert not read_configuration({"judging": demand}, path="planbound.toml").judging.bare


@pytest.mark.parametrize("demand", [{}, {"isolation": "I0"}, {"evidence": "E1"}])
def test_what_needs_no_cell_goes_with_none(demand: dict[str, Any]) -> None:
    document = {"judging": {"bare": True, **demand}}
    assert read_configuration(document, path="planbound.toml").judging.bare


def test_a_contract_runs_in_the_workspace_itself(project: Project) -> None:
    project.plan("it", plan_text("pwd -P; echo x > made"))
    done = project.judge("--json")
    assert (done.json["cell"], done.json["isolation"]) == ("no cell", "I0")
    found = done.json["verdicts"][0]
    assert (found["verdict"], found["evidence"], found["tree"]) == ("pass", "E1", "")
    assert (project.workspace / "made").read_text() == "x\n"


def test_a_pass_after_a_fail_is_no_flake(project: Project) -> None:
    project.plan("it", plan_text("test -e done"))
    assert project.first()["verdict"] == "fail"
    project.write("done", "")
    assert project.first()["verdict"] == "pass"


def test_a_change_of_a_judge_is_not_seen(project: Project) -> None:
    project.plan("it", plan_text("sh tests/check.sh"))
    project.write("tests/check.sh", "exit 1\n")
    project.baseline()
    project.write("tests/check.sh", "exit 0\n")
    found = project.first()
    assert (found["verdict"], found["evidence"]) == ("pass", "E1")


def test_more_evidence_than_there_can_be_is_no_pass(project: Project) -> None:
    project.plan("it", plan_text("true", fields="**evidence:** E2\n"))
    found = project.first()
    assert found["verdict"] == "vacuous"
    assert "E2 is demanded" in found["reason"]


@pytest.mark.parametrize("contract", ["fi", "echo 'x", "echo $(", "if true; then", "for x in; {"])
def test_what_bash_cannot_parse_is_unrunnable(project: Project, contract: str) -> None:
    project.plan("it", plan_text(contract))
    found = project.first()
    assert found["verdict"] == "unrunnable", found
    assert found["reason"].startswith("line "), found


def test_a_test_runner_is_believed_and_not_tried(project: Project) -> None:
    project.pytest_project()
    assert project.first()["verdict"] == "fail"
    project.do_the_work()
    found = project.first()
    assert (found["verdict"], found["evidence"]) == ("pass", "E1")
    assert [path.name for path in (project.workspace / "tests").glob("*.py")] == ["test_calc.py"]


def test_a_stopped_contract_is_killed() -> None:
    finding = meaning(Outcome(ending=Ending.STOPPED, reason="the budget is spent"), [], None)
    assert finding.kind is VerdictKind.KILLED
    assert "the budget is spent" in finding.reason
