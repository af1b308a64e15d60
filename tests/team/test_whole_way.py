"""From spawn to prune in repositories that are not like the others, and with kills on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run.bench import BARE
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
    team.goes("integrate")
    assert team.contains("main", commit)
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


@pytest.mark.requirement("fleet.killed")
def test_a_fleet_killed_at_one_event_after_the_other_still_comes_to_its_end(
    tmp_path: Path,
) -> None:
    team = Team(tmp_path, settings=BARE)
    team.named("first")
    team.named("second", depends_on="first")
    for kill in KILLS:
        team.run("fleet", "--jobs", "2", PLANBOUND_FAILPOINT=kill)
        team.ends_all()
    done = team.run("fleet", "--jobs", "2", "--json")
    assert done.code in {0, 3}, done.out + done.err
    commits = {event.plan: event["commit"] for event in team.log().of("WORK_COMMITTED")}
    assert sorted(commits) == ["first", "second"]
    ended = [event.plan for event in team.log().of("EXECUTION_COMPLETE")]
    assert sorted(ended) == ["first", "second"]
    team.goes("integrate")
    for name, commit in commits.items():
        assert team.contains("main", commit), name
    assert team.verifies()
