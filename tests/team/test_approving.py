"""There is one way to an approval: where the plan works, and over what was really looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.run.bench import Step
from tests.team.repo import Team

CHECKED = Step("make one", contract="sh tests/check.sh", touches="src/one")
ELICITED = """
from planbound.approval.elicitation import ElicitedApprovals
from planbound.workspace.context import Context

approvals = ElicitedApprovals(Context())
form = approvals.form("one")
approvals.approve(form, "ann", form.digest[:6])
"""
MEDDLED = """
import subprocess, sys
from planbound.cli.main import main
from planbound.judging import control, judge

command, *order = sys.argv[1:]


class Meddled:
    # A cell beside which something happens while a contract runs.
    def __init__(self, cell):
        self.cell = cell
        self.name, self.isolation = cell.name, cell.isolation

    def run(self, *request, **more):
        subprocess.run(["sh", "-c", command], check=True)
        return self.cell.run(*request, **more)


def observe(bench, cases):
    yield from judge.observe(bench._replace(cell=Meddled(bench.cell)), cases)


control.observe = observe
sys.exit(main(order))
"""


@pytest.fixture
def team(tmp_path: Path) -> Team:
    # One contract after the other: two `git gc` at once hinder each other.
    team = Team(tmp_path, settings="[gate]\nelicitation = true\n\n[judging]\njobs = 1\n")
    team.write("tests/check.sh", "test -f src/one\n")
    team.commit("a judge")
    return team


def python(team: Team, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a process of the workspace."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=team.workspace,
        env=team.environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.requirement("gate.elicitation-bound")
def test_an_elicited_approval_is_of_the_worktree_that_the_plan_is_bound_to(team: Team) -> None:
    team.named("one", CHECKED, approve=False)
    team.goes("spawn", "one")
    judge = team.worktree("one") / "tests" / "check.sh"
    judge.write_text("grep -qx right src/one\n")
    assert python(team, ELICITED).stderr == ""
    assert "1/1" in team.goes("run", "one").out
    assert (team.worktree("one") / "src" / "one").read_text() == "right\n"
    assert not (team.workspace / "src" / "one").exists()


@pytest.mark.requirement("gate.baseline-taken")
def test_nothing_is_approved_over_a_baseline_that_could_not_be_taken(team: Team) -> None:
    team.named("one", CHECKED, approve=False)
    digest = team.goes("show", "one", "--json").json["digest"]
    order = ["approve", "one", "--digest", digest[:16], "--as", "ann"]
    done = python(team, MEDDLED, "echo somebody edits >> src/readme", *order)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "the baseline of `one` could not be taken: step 1 is `tampered`" in done.stderr
    assert "src/readme; nothing was approved" in done.stderr
    assert not team.log("one").of("GATE_APPROVED", "BASELINE_OBSERVED")
    # What git does by itself is no meddling: `gc` writes `info/refs` and packs the references.
    team.git("branch", "old")
    done = python(team, MEDDLED, "git gc --quiet; touch .git/packed-refs.new", *order)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (team.workspace / ".git" / "info" / "refs").exists()
    assert {event["verdict"] for event in team.log("one").of("BASELINE_OBSERVED")} == {"fail"}
