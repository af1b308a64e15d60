"""`planbound spawn`: a worktree for a plan, made whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.run.bench import Step, until
from tests.tables import first_always
from tests.team.repo import Team


@pytest.mark.requirement("command.spawn")
def test_a_plan_gets_a_worktree_a_recorded_branch_a_marker_and_a_pointer(team: Team) -> None:
    team.named("rounding")
    done = team.goes("spawn", "rounding")
    path = team.worktree("rounding")
    assert done.out.strip() == str(path)
    assert str(path) in team.worktrees()
    assert (path / ".harness/active-plan").read_text() == "rounding\n"
    assert (team.workspace / ".harness/worktree-for-rounding").read_text() == f"{path}\n"
    assert (path / "src/readme").read_text() == "some sources\n"
    assert team.git("status", "--porcelain", cwd=path) == ""
    asked, made = team.log("rounding").of("WORKTREE_REQUESTED", "WORKTREE_SPAWNED")
    assert asked.kind == "WORKTREE_REQUESTED"
    assert made["branch"] == team.git("branch", "--show-current", cwd=path) == "planbound/rounding"
    assert made["base"] == team.tip()


def test_spawning_twice_says_where_it_is_and_ends_with_3(team: Team) -> None:
    team.named("rounding")
    team.goes("spawn", "rounding")
    again = team.goes("spawn", "rounding", code=3)
    assert again.out.strip() == str(team.worktree("rounding"))
    assert team.goes("spawn", "rounding", "--json", code=3).json["spawned"] is False
    assert len(team.log().of("WORKTREE_SPAWNED")) == 1


def test_a_base_is_any_revision_and_a_wrong_one_is_refused(team: Team) -> None:
    first = team.tip()
    team.write("src/more", "more\n")
    team.commit("more")
    team.named("rounding")
    wrong = team.goes("spawn", "rounding", "--base", "nowhere", code=2)
    assert "`nowhere` names no commit" in wrong.err
    team.goes("spawn", "rounding", "--base", "main~1")
    assert team.git("rev-parse", "HEAD", cwd=team.worktree("rounding")) == first


def test_nothing_is_made_over_what_exists(team: Team) -> None:
    team.named("rounding")
    slot = team.worktree("rounding")
    slot.mkdir(parents=True)
    (slot / "notes").write_text("mine\n")
    refused = team.goes("spawn", "rounding", code=2)
    assert "there is a folder at" in refused.err
    assert (slot / "notes").read_text() == "mine\n"
    assert "planbound/rounding" not in team.git("branch", "--list")


def test_a_branch_that_is_there_is_left_alone_and_another_name_recorded(team: Team) -> None:
    team.git("branch", "planbound/rounding")
    before = team.tip("planbound/rounding")
    team.named("rounding")
    made = team.goes("spawn", "rounding", "--json").json
    assert made["branch"] == "planbound/rounding-2"
    assert team.tip("planbound/rounding") == before


@pytest.mark.thorough
def test_there_is_a_cap(team: Team) -> None:
    team.settings = "[worktrees]\nlimit = 1\n"
    for name in ("one", "two"):
        team.named(name)
    team.goes("spawn", "one")
    refused = team.goes("spawn", "two", code=2)
    assert "there are 1 worktrees already" in refused.err
    assert not team.worktree("two").exists()


def test_setup_copies_files_by_name_and_runs_commands(team: Team) -> None:
    team.write(".env", "TOKEN=sk-very-secret-value\n")
    team.git("check-ignore", ".env", check=False)
    team.settings = '[worktrees]\nsetup = [".env", "mkdir made && touch made/here", "gone"]\n'
    team.named("rounding")
    done = team.goes("spawn", "rounding")
    path = team.worktree("rounding")
    assert (path / ".env").read_text() == "TOKEN=sk-very-secret-value\n"
    assert (path / "made/here").exists()
    assert "`gone` is not there" in done.err
    assert team.log().one("WORKTREE_SPAWNED")["copied"] == [".env"]
    assert "very-secret" not in team.goes("log", "--json").out


@pytest.mark.requirement("spawn.rollback")
def test_a_setup_that_fails_is_rolled_back(team: Team) -> None:
    team.settings = '[worktrees]\nsetup = ["touch made && echo no network >&2 && false"]\n'
    team.named("rounding")
    refused = team.goes("spawn", "rounding", code=2)
    assert "no network" in refused.err
    assert "nothing of it is left" in refused.err
    assert not team.worktree("rounding").exists()
    assert team.worktrees() == [str(team.workspace)]
    assert "planbound/rounding" not in team.git("branch", "--list")
    assert not (team.workspace / ".harness/worktree-for-rounding").exists()
    assert team.log().one("WORKTREE_REMOVED")["reason"].startswith("`touch made")


@pytest.mark.parametrize("point", first_always(["before", "after"]))
@pytest.mark.parametrize("number", first_always([1, 2]))
def test_a_kill_in_the_middle_is_made_good_by_the_next_spawn(
    team: Team, number: int, point: str
) -> None:
    team.named("rounding")
    seen = len(team.log())
    team.run("spawn", "rounding", PLANBOUND_FAILPOINT=f"{point}:{number}")
    assert len(team.log()) in {seen, seen + 1, seen + 2}
    again = team.run("spawn", "rounding")
    assert again.code in {0, 3}, again.err
    assert team.worktrees() == [str(team.workspace), str(team.worktree("rounding"))]
    assert team.git("branch", "--list", "planbound/*").split()[-1] == "planbound/rounding"
    team.goes("spawn", "rounding", code=3)


def test_what_somebody_put_into_a_half_made_worktree_is_not_lost(team: Team) -> None:
    team.named("rounding")
    team.run("spawn", "rounding", PLANBOUND_FAILPOINT="before:2")
    path = team.worktree("rounding")
    (path / "mine").write_text("work\n")
    refused = team.goes("spawn", "rounding", code=2)
    assert "holds work: mine" in refused.err
    assert (path / "mine").read_text() == "work\n"


@pytest.mark.thorough
def test_a_worktree_whose_folder_is_gone_comes_back_on_its_branch(team: Team) -> None:
    team.named("rounding")
    team.goes("spawn", "rounding")
    path = team.worktree("rounding")
    (path / "src/new").write_text("new\n")
    kept = team.commit("kept", cwd=path)
    subprocess.run(["rm", "-rf", str(path)], check=True)
    gone = team.goes("run", "rounding", code=2)
    assert "is gone" in gone.err
    done = team.goes("spawn", "rounding")
    assert "what was not committed there is lost" in done.err
    assert team.git("rev-parse", "HEAD", cwd=path) == kept


def test_a_locked_worktree_that_is_gone_stays_gone(team: Team) -> None:
    team.named("rounding")
    team.goes("spawn", "rounding")
    path = team.worktree("rounding")
    team.git("worktree", "lock", "--reason", "on a stick", str(path))
    subprocess.run(["rm", "-rf", str(path)], check=True)
    assert "on a stick" in team.goes("spawn", "rounding", code=2).err


def test_a_repository_without_commits_and_a_folder_without_git_are_told(tmp_path: Path) -> None:
    bare = Team(tmp_path)
    subprocess.run(["rm", "-rf", str(bare.workspace / ".git")], check=True)
    bare.write(".harness/PLAN-x.md", "# X\n")
    nothing = bare.goes("spawn", "x", code=2)
    assert "is in no git repository" in nothing.err
    bare.git("init", "--quiet")
    empty = bare.goes("spawn", "x", code=2)
    assert "has no commit yet" in empty.err
    assert "commit something first" in empty.err


def test_an_unknown_plan_is_told(team: Team) -> None:
    team.named("rounding")
    assert "rounding" in team.goes("spawn", "roundng", code=2).err
    assert team.goes("spawn", code=2).err


@pytest.mark.parametrize(
    "name", first_always(["with space", "naïve-ümlaut", "日本", "a..b~c^d:e?f"])
)
def test_paths_and_names_may_hold_almost_anything(tmp_path: Path, name: str) -> None:
    team = Team(tmp_path, name="my repö")
    team.named("x")
    text = (team.workspace / ".harness/PLAN-x.md").read_text()
    team.write(f".harness/PLAN-{name}.md", text)
    made = team.goes("spawn", name, "--json").json
    assert team.git("branch", "--show-current", cwd=Path(made["worktree"])) == made["branch"]
    team.goes("spawn", name, code=3)


def test_a_shallow_clone_and_a_detached_head_are_as_good(tmp_path: Path) -> None:
    team = Team(tmp_path)
    team.commit("second")
    clone = tmp_path / "clone"
    team.git("clone", "--quiet", "--depth", "1", f"file://{team.workspace}", str(clone))
    team.git("checkout", "--quiet", "--detach", cwd=clone)
    other = Team.__new__(Team)
    other.__dict__.update(team.__dict__)
    other.workspace = clone
    other.named("rounding")
    made = other.goes("spawn", "rounding", "--json").json
    assert made["base"] == team.git("rev-parse", "HEAD", cwd=clone)


@pytest.mark.thorough
def test_a_submodule_is_left_empty_and_nothing_is_lost(tmp_path: Path) -> None:
    team = Team(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    team.git("init", "--quiet", cwd=inner)
    team.commit("inner", cwd=inner)
    team.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(inner), "sub")
    team.commit("with a submodule")
    team.named("rounding")
    team.goes("spawn", "rounding")
    team.goes("run", "rounding")
    assert team.git("ls-tree", "planbound/rounding", "sub").startswith("160000 commit")


def test_two_spawns_at_once_make_one_worktree(team: Team) -> None:
    team.named("rounding")
    with team.start("spawn", "rounding") as one, team.start("spawn", "rounding") as other:
        codes = sorted((one.wait(60), other.wait(60)))
    assert codes == [0, 3]
    assert len(team.worktrees()) == 2


def test_control_c_in_the_middle_of_setup_leaves_nothing(team: Team) -> None:
    team.settings = '[worktrees]\nsetup = ["echo began > began; sleep 900"]\n'
    team.named("rounding")
    with team.start("spawn", "rounding") as process:
        until((team.worktree("rounding") / "began").exists)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
    assert not team.worktree("rounding").exists()
    assert "planbound/rounding" not in team.git("branch", "--list")
    assert team.log().one("WORKTREE_REMOVED")["reason"] == "interrupted"


@pytest.mark.requirement("git.safety")
def test_nothing_that_the_repository_names_is_run_by_the_harness(team: Team) -> None:
    team.write(".gitattributes", "* filter=trap merge=trap diff=trap\n")
    team.commit("attributes")
    trace = team.traps()
    team.named("rounding", Step("make rounding"))
    team.goes("spawn", "rounding")
    team.goes("run", "rounding")
    assert not trace.exists(), trace.read_text()
    assert team.tip("planbound/rounding") != team.tip()
