"""An agent that destroys the repository, or most of the files: put back, named, asked about."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.git import git_scene
from tests.git.git_scene import facts, sh
from tests.program import WITHOUT_WALLS
from tests.run.bench import Bench, Step

pytestmark = pytest.mark.requirement("run.repository")

DONE = "echo hi > a.txt"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository that is only copied."""
    folder = tmp_path_factory.mktemp("scene") / "repo"
    git_scene.make(folder)
    return folder


def _bench(scene: Path, folder: Path, *work: str, settings: str = "", **step: str) -> Bench:
    shutil.copytree(scene, folder / "repo", symlinks=True)
    bench = Bench(folder)
    wanted = {"contract": "test -f a.txt", "touches": "a.txt", **step}
    bench.prepare(Step("Make it", tuple(work), **wanted), settings=settings)
    sh(bench.workspace, "git add src/readme")
    return bench


@pytest.mark.thorough
@pytest.mark.requirement("recovery.destructive")
def test_the_repository_comes_back_and_a_person_is_asked_although_the_contract_passes(
    scene: Path, tmp_path: Path
) -> None:
    bench = _bench(scene, tmp_path, f"rm -rf .git; {DONE}", DONE, fields="**on_fail:** abort")
    before = facts(bench.workspace)
    done = bench.goes("run", code=4)
    assert facts(bench.workspace) == before
    named = "destructive: the agent destroyed 18 objects, `main` at"
    assert f"Make it: {named}" in done.out
    assert "1 stash, 3 reflogs, HEAD, the index; put back" in done.out
    question = bench.question()
    assert question["choices"] == ["retry", "skip", "abort", "revise"]
    assert named in question["reason"]
    assert named in bench.goes("inbox").out
    assert "destructive" in bench.goes("status").out
    assert "destructive" in bench.goes("log").out
    log = bench.log()
    assert log.one("FAILURE_CLASSIFIED")["failure_type"] == "destructive"
    assert "18 objects" in log.one("FAILURE_DETECTED")["destroyed"]
    assert not log.of("TASK_COMPLETED", "RECOVERY_APPLIED")
    bench.answer("retry")
    bench.goes("resume")
    assert bench.phases() == ["done"]
    assert "removed copy of a repository" in bench.goes("gc").out
    assert not list((tmp_path / "state" / "gits").iterdir())


@pytest.mark.thorough
def test_a_run_that_is_killed_before_it_could_put_things_back_is_healed_by_the_next(
    scene: Path, tmp_path: Path
) -> None:
    # Without walls an agent can kill the harness, and remove everything of it in the workspace.
    # Above its keeper is the harness, or a launcher between the two.
    find = "p=$(ps -o ppid= -p $PPID); case $(ps -o args= -p $p) in *cells.inside.warm*)"
    find += " p=$(ps -o ppid= -p $p);; esac"
    work = f"{DONE}; rm -rf .git .harness planbound.toml; {find}; kill -9 $p; exec sleep 900"
    bench = _bench(scene, tmp_path, work)
    bench.program = WITHOUT_WALLS
    before = facts(bench.workspace)
    bench.goes("run", code=-9)
    assert not (bench.workspace / ".git").exists()
    done = bench.goes("resume", code=4)
    assert facts(bench.workspace) == before
    assert "destructive: the agent destroyed" in done.out
    assert bench.question()["kind"] == "failure"


@pytest.mark.thorough
def test_files_and_repository_come_back_from_an_agent_that_removes_everything(
    scene: Path, tmp_path: Path
) -> None:
    bench = _bench(scene, tmp_path, f"rm -rf ./* ./.[a-z]*; {DONE}")
    before, status = facts(bench.workspace), sh(bench.workspace, "git status --short")
    done = bench.goes("run", code=4)
    assert "5 of 6 files that it may not touch; put back" in done.out
    assert facts(bench.workspace) == before
    assert sh(bench.workspace, "git status --short; rm a.txt").replace("?? a.txt\n", "") == status


@pytest.mark.thorough
def test_a_copy_that_was_destroyed_is_not_brought_home(scene: Path, tmp_path: Path) -> None:
    bench = _bench(scene, tmp_path, f"git branch -D other; {DONE}", DONE)
    before = facts(bench.workspace)
    shutil.copy(bench.plan_file, tmp_path)
    done = bench.goes("run", "--jobs", "2", code=4)
    assert "destructive: the agent destroyed `other` at" in done.out
    assert not list((tmp_path / "state" / "copies").iterdir())
    assert facts(bench.workspace) == before


@pytest.mark.requirement("run.index")
@pytest.mark.requirement("cell.untracked")
def test_an_agent_works_with_git_and_what_is_put_back_is_not_left_in_the_index(
    scene: Path, tmp_path: Path
) -> None:
    honest = (
        "git status --short > status; git stash -q; git stash pop -q; git add -A && cat status;"
        f"rm status; {DONE}; git reset -q; git checkout -q -b mine; git add a.txt;"
        "git -c user.name=a -c user.email=a@b commit -qm mine -- a.txt"
    )
    bench = _bench(
        scene,
        tmp_path,
        f"echo x > stray.py; git add stray.py f2; {DONE}",
        honest,
    )
    staged = facts(bench.workspace)["index"]
    bench.goes("run")
    first, second = bench.log().of("ATTEMPT_ENDED")
    assert "stray.py" in first["changed"]
    untracked = ["?? .harness/", "?? a.txt", "?? planbound.toml", "?? status"]
    assert second["output_tail"].splitlines() == ["M  f2", "A  src/readme", *untracked]
    assert sh(bench.workspace, "git log -1 --format=%s") == "mine\n"
    # What the user had staged is staged, and nothing of the agent's stray file is.
    kept = [line for line in facts(bench.workspace)["index"].splitlines() if "a.txt" not in line]
    assert kept == staged.splitlines()


@pytest.mark.thorough
@pytest.mark.requirement("verdict.out-of-scope")
def test_another_branch_that_an_agent_moves_is_out_of_scope_and_tried_again(
    scene: Path, tmp_path: Path
) -> None:
    bench = _bench(scene, tmp_path, f"git branch -f other main; {DONE}", DONE)
    before = facts(bench.workspace)["refs"]
    bench.goes("run")
    assert bench.phases() == ["done"]
    assert facts(bench.workspace)["refs"] == before
    violated = bench.log().one("SCOPE_VIOLATED")
    assert violated["files"] == [".git/refs/heads/other"]
    assert violated["restored"] is True


@pytest.mark.thorough
def test_a_branch_that_is_deleted_with_its_commits_comes_back_with_them(
    scene: Path, tmp_path: Path
) -> None:
    pruned = "git branch -D other; git reflog expire --expire=now --all; git gc -q --prune=now"
    bench = _bench(scene, tmp_path, f"{pruned}; {DONE}")
    sh(
        bench.workspace,
        "git checkout -q other; git commit -q --allow-empty -m alone; git checkout -q main",
    )
    before = facts(bench.workspace)
    done = bench.goes("run", code=4)
    assert "`other` at" in done.out
    after = facts(bench.workspace)
    assert (after["refs"], after["commits"]) == (before["refs"], before["commits"])
    assert after["fsck"] == ""
