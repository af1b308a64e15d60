"""From spawn to prune in repositories that are not like the others, and with kills on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run.bench import Step, until
from tests.team.repo import Team


def _plain(folder: Path) -> Team:
    return Team(folder)


def _named_oddly(folder: Path) -> Team:
    return Team(folder / "a b", name="my 'repö' 日本")


def _shallow(folder: Path) -> Team:
    source = Team(folder / "source")
    for number in range(3):
        source.commit(f"commit {number}")
    team = Team(folder / "clone")
    team.git("worktree", "prune")
    team.git("fetch", "--quiet", "--depth", "1", f"file://{source.workspace}", "main")
    team.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    assert (team.workspace / ".git/shallow").exists()
    return team


def _with_submodule(folder: Path) -> Team:
    team = Team(folder)
    inner = folder / "inner"
    inner.mkdir()
    team.git("init", "--quiet", cwd=inner)
    (inner / "file").write_text("inner\n")
    team.commit("inner", cwd=inner)
    team.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(inner), "sub")
    team.commit("with a submodule")
    return team


def _packed(folder: Path) -> Team:
    team = Team(folder)
    team.git("gc", "--quiet")
    team.git("pack-refs", "--all")
    return team


def _git_elsewhere(folder: Path) -> Team:
    team = Team(folder)
    (team.workspace / ".git").rename(folder / "elsewhere.git")
    (team.workspace / ".git").write_text(f"gitdir: {folder}/elsewhere.git\n")
    team.named("other")
    refused = team.goes("spawn", "other", code=2)
    assert "does not say where its main worktree is" in refused.err
    team.git("config", "core.worktree", str(team.workspace))
    return team


def _tracked_harness(folder: Path) -> Team:
    team = Team(folder)
    (team.workspace / ".gitignore").write_text("")
    team.named("other")
    team.commit("plans are in git")
    return team


@pytest.mark.thorough
@pytest.mark.parametrize(
    "make",
    [
        _plain,
        _named_oddly,
        _shallow,
        _with_submodule,
        _packed,
        _git_elsewhere,
        _tracked_harness,
    ],
)
def test_the_whole_way_in_an_odd_repository(tmp_path: Path, make: Callable[[Path], Team]) -> None:
    tmp_path.joinpath("a b").mkdir()
    for part in ("source", "clone"):
        tmp_path.joinpath(part).mkdir()
    team = make(tmp_path)
    team.named("rounding")
    team.goes("spawn", "rounding")
    team.goes("run", "rounding")
    commit = team.tip("planbound/rounding")
    assert f"worktree {team.worktree('rounding')}" in team.goes("status", "rounding").out
    team.goes("integrate")
    assert team.contains("main", commit)
    status = team.goes("status", "rounding", "--json").json
    assert (status["commit"], status["integrated"]["into"]) == (commit, "main")
    assert "merged into `main` as" in team.goes("status", "rounding").out
    assert (team.workspace / "src/rounding").read_text() == "right\n"
    dirty = team.git("status", "--porcelain", "--", ".", ":!.harness", ":!planbound.toml")
    assert dirty == ""
    team.goes("prune")
    assert not team.worktree("rounding").exists()
    assert team.git("branch", "--list", "planbound/*") == ""
    assert team.contains("main", commit)
    team.git("fsck", "--strict")
    assert team.verifies()


KILLS = [
    f"{when}:{kind}:1"
    for kind in (
        "WORKTREE_REQUESTED",
        "WORKTREE_SPAWNED",
        "EXECUTION_STARTED",
        "TASK_STARTED",
        "BASELINE_OBSERVED",
        "ATTEMPT_ENDED",
        "CONTRACT_EVALUATED",
        "TASK_COMPLETED",
        "EXECUTION_COMPLETE",
        "WORK_COMMITTED",
    )
    for when in ("before", "after")
]


@pytest.mark.thorough
@pytest.mark.requirement("fleet.killed")
def test_a_fleet_killed_at_one_event_after_the_other_still_comes_to_its_end(
    tmp_path: Path,
) -> None:
    team = Team(tmp_path)
    team.named("first")
    team.named("second", depends_on="first")
    for kill in KILLS:
        team.run("fleet", "--jobs", "2", PLANBOUND_FAILPOINT=kill)
        team.ends_all()
    done = team.run("fleet", "--jobs", "2", "--json")
    assert done.code in {0, 3}, done.out + done.err
    ended = [event.plan for event in team.log().of("EXECUTION_COMPLETE")]
    assert sorted(ended) == ["first", "second"]
    team.goes("integrate")  # commits what a kill kept from being committed, too
    commits = {event.plan: event["commit"] for event in team.log().of("WORK_COMMITTED")}
    assert sorted(commits) == ["first", "second"]
    for name, commit in commits.items():
        assert team.contains("main", commit), name
    assert team.verifies()


@pytest.mark.thorough
def test_nothing_is_merged_under_the_hands_of_a_run_in_the_main_worktree(team: Team) -> None:
    team.named("rounding")
    team.goes("spawn", "rounding")
    team.goes("run", "rounding")
    before = team.tip()
    slow = "while [ ! -e go ]; do sleep 0.05; done; echo right > src/slow"
    team.named("slow", Step("make slow", slow, touches="src/slow go"))
    with team.start("run", "slow") as process:
        until(lambda: bool(team.log("slow").of("TASK_STARTED")))
        stopped = team.goes("integrate", "--json", code=1).json["stopped"]
        assert stopped[0]["kind"] == "in the way"
        assert "`slow` is run in" in stopped[0]["reason"]
        assert team.tip() == before
        (team.workspace / "go").write_text("")
        assert process.wait(60) == 0
    team.goes("integrate")
    assert team.tip() != before


def test_the_whole_way_with_a_journal_that_several_machines_share(shared_team: Team) -> None:
    team = shared_team
    team.named("first")
    team.named("second", depends_on="first")
    team.goes("fleet", "--jobs", "2")
    commits = {event.plan: event["commit"] for event in team.log().of("WORK_COMMITTED")}
    assert sorted(commits) == ["first", "second"]
    team.goes("integrate")
    assert all(team.contains("main", commit) for commit in commits.values())
    assert team.goes("claims", "--json").json["claims"] == []
    team.goes("prune")
    assert team.worktrees() == [str(team.workspace)]
