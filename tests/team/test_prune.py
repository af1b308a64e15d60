"""Prune: worktrees and branches go when nothing would be lost with them, and only then."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.needs import need
from tests.run.bench import Bench, Step, plan_text, until

WHO = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
WAITING = Step(
    "Write one",
    work="touch src/begun; sleep 600",
    touches="src/*",
    target="coder-one",
)


class Yard(Bench):
    """A repository whose plans have worktrees."""

    def __init__(self, folder: Path, *, name: str = "repo") -> None:
        need("git", "worktrees are made with it")
        super().__init__(folder, name=name)
        self.write(".gitignore", "*.log\ncache/\n.env\nbuild/\n__pycache__/\n.harness/\n")
        self.git("init", "-q", "-b", "main")
        self.commit("begin")

    def git(self, *words: str, at: Path | None = None) -> str:
        """Run git as a person does."""
        done = subprocess.run(
            ["git", *WHO, *words],
            cwd=at or self.workspace,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, message: str, at: Path | None = None) -> str:
        """Commit everything; return the id."""
        self.git("add", "--all", at=at)
        self.git("commit", "-qm", message, at=at)
        return self.git("rev-parse", "HEAD", at=at)

    def spawn(self, name: str, **plan: str) -> Path:
        """Lay a plan and make its worktree; return that."""
        self.lay(Step("Write one"), name=name, **plan)
        return Path(self.goes("spawn", name).out.strip())

    def work(self, tree: Path, file: str = "src/one") -> str:
        """Commit something in a worktree."""
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).write_text("right\n")
        self.git("add", file, at=tree)
        self.git("commit", "-qm", "work", at=tree)
        return self.git("rev-parse", "HEAD", at=tree)

    def merged(self, name: str, **plan: str) -> Path:
        """Make a worktree whose work is merged."""
        tree = self.spawn(name, **plan)
        self.work(tree, f"src/{name}")
        self.git("merge", "-q", "--no-ff", "-m", "merge", f"planbound/{name}")
        return tree

    def branches(self) -> list[str]:
        """Return all branches."""
        return self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()

    def keeps(self, name: str, *reasons: str) -> None:
        """Look that a worktree stays, with these words, and nothing is recorded about it."""
        before = self.log(name)
        found = self.goes("prune", name, "--json", code=1).json
        assert found["removed"] == []
        (kept,) = found["kept"]
        assert kept["plan"] == name
        for reason in reasons:
            assert reason in kept["reason"]
        assert f"planbound/{name}" in self.branches()
        assert self.log(name) == before


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


# -- what goes ---------------------------------------------------------------------------------


@pytest.mark.requirement("command.prune")
def test_a_merged_and_clean_worktree_goes_with_its_branch_and_its_commits_stay(yard: Yard) -> None:
    tree = yard.spawn("one")
    tip = yard.work(tree)
    yard.git("merge", "-q", "--no-ff", "-m", "merge", "planbound/one")
    done = yard.goes("prune")
    assert done.out == f"removed one  {tree}, branch planbound/one\n"
    assert not tree.exists()
    assert yard.branches() == ["main"]
    assert yard.git("worktree", "list").count("\n") == 0
    assert yard.git("merge-base", "--is-ancestor", tip, "main") == ""
    assert not (yard.workspace / ".harness" / "worktree-for-one").exists()
    gone = yard.log("one").one("WORKTREE_REMOVED")
    assert gone["path"] == str(tree)
    assert (gone["branch"], gone["tip"], gone["reason"]) == ("planbound/one", tip, "pruned")
    again = yard.goes("prune", "one", code=3)
    assert "no worktree is recorded for `one`" in again.err
    assert yard.goes("prune", "--json", code=3).json == {"removed": [], "kept": []}
    # And it can be made anew.
    assert Path(yard.goes("spawn", "one").out.strip()) == tree


@pytest.mark.requirement("prune.dry-run")
def test_a_dry_run_changes_and_records_nothing(yard: Yard) -> None:
    tree = yard.merged("one")
    other = yard.spawn("two")
    yard.work(other, "src/other")
    before = yard.log()
    done = yard.goes("prune", "--dry-run")
    assert done.out.splitlines()[0] == f"would remove one  {tree}, branch planbound/one"
    assert done.out.splitlines()[1].startswith("kept two  1 commit is neither in `main` nor on")
    assert tree.is_dir()
    assert (tree / ".harness" / "active-plan").read_text() == "one\n"
    assert "planbound/one" in yard.branches()
    assert yard.log() == before


@pytest.mark.requirement("prune.nothing-lost")
def test_what_is_on_a_remote_copy_is_not_lost(yard: Yard) -> None:
    tree = yard.spawn("one")
    tip = yard.work(tree)
    yard.keeps("one", "1 commit is neither in `main` nor on a remote", tip[:12])
    yard.git("update-ref", "refs/remotes/origin/one", tip)
    assert yard.goes("prune", "one", "--json").json["removed"] == [
        {"plan": "one", "worktree": str(tree), "branch": "planbound/one", "tip": tip}
    ]
    assert not tree.exists()


def test_what_is_in_the_branch_that_plans_are_brought_together_in_is_not_lost(yard: Yard) -> None:
    yard.settings += '[worktrees]\ninto = "release"\n'
    tree = yard.spawn("one")
    tip = yard.work(tree)
    yard.git("branch", "release", "main")
    yard.keeps("one", "1 commit is neither in `release` nor in `main` nor on a remote")
    yard.git("branch", "-f", "release", tip)
    yard.goes("prune", "one")
    assert not tree.exists()


def test_what_tools_leave_behind_goes_with_the_worktree(yard: Yard) -> None:
    tree = yard.merged("one", touches="src/**")
    for name in ("cache/a", "src/__pycache__/one.pyc", "debug.log"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("left behind")
    yard.goes("prune", "one")
    assert not tree.exists()


def test_paths_with_spaces_and_other_letters_are_no_obstacle(tmp_path: Path) -> None:
    yard = Yard(tmp_path, name="mein Lädchen")
    yard.write(".harness/PLAN-größe.md", plan_text(Step("Write one")))
    tree = Path(yard.goes("spawn", "größe").out.strip())
    yard.work(tree, "src/zwei Wörter")
    yard.git("merge", "-q", yard.git("symbolic-ref", "--short", "HEAD", at=tree))
    assert yard.goes("prune").out.startswith(f"removed größe  {tree}, branch ")
    assert not tree.exists()
    assert yard.branches() == ["main"]


def test_an_equal_copy_of_a_setup_file_goes_and_a_changed_one_keeps_the_worktree(
    yard: Yard,
) -> None:
    yard.settings += '[worktrees]\nsetup = [".env", "notes"]\n'
    yard.write(".env", "KEY=1\n")
    yard.write("notes/a/b", "hello\n")
    yard.write(".git/info/exclude", "notes\n")
    tree = yard.merged("one")
    (tree / ".env").write_text("KEY=2\n")
    yard.keeps("one", "1 file is not what the main workspace has: .env")
    (tree / ".env").write_text("KEY=1\n")
    (tree / "notes/a/b").write_text("changed\n")
    yard.keeps("one", "1 file is untracked: notes/a/b")
    (tree / "notes/a/b").write_text("hello\n")
    yard.goes("prune", "one")
    assert not tree.exists()
    assert yard.read(".env") == "KEY=1\n"
    assert yard.read("notes/a/b") == "hello\n"


# -- what stays --------------------------------------------------------------------------------


@pytest.mark.requirement("prune.nothing-lost")
def test_uncommitted_work_keeps_a_merged_worktree(yard: Yard) -> None:
    tree = yard.merged("one")
    (tree / "src" / "one").write_text("better\n")
    # Git is told to look away, and is believed by nobody.
    yard.git("update-index", "--assume-unchanged", "src/one", at=tree)
    yard.keeps("one", "1 file is not committed: src/one")
    assert (tree / "src" / "one").read_text() == "better\n"


@pytest.mark.requirement("prune.nothing-lost")
def test_an_untracked_file_keeps_a_merged_worktree_and_its_marker(yard: Yard) -> None:
    tree = yard.merged("one")
    (tree / "idea").write_text("a thought\n")
    yard.keeps("one", "1 file is untracked: idea")
    assert (tree / ".harness" / "active-plan").read_text() == "one\n"


def test_what_is_only_staged_keeps_the_worktree_and_the_marker_is_put_back(yard: Yard) -> None:
    tree = yard.merged("one")
    (tree / ".gitignore").write_text("*.log\n")  # so that the marker is untracked
    yard.git("commit", "-qm", "all is shown", ".gitignore", at=tree)
    yard.git("merge", "-q", "planbound/one")
    (tree / "src" / "one").write_text("staged\n")
    yard.git("add", "src/one", at=tree)
    (tree / "src" / "one").write_text("right\n")
    yard.keeps("one", "git cannot remove the worktree")
    assert (tree / ".harness" / "active-plan").read_text() == "one\n"
    yard.git("reset", "-q", at=tree)
    yard.goes("prune", "one")
    assert not tree.exists()


@pytest.mark.requirement("prune.nothing-lost")
def test_an_ignored_file_that_the_plan_was_to_make_keeps_the_worktree(yard: Yard) -> None:
    tree = yard.merged("one", touches="src/**, build/*.bin")
    (tree / "build").mkdir()
    (tree / "build" / "out.bin").write_text("the result")
    yard.keeps("one", "1 file is ignored by git, and a result of the plan: build/out.bin")


def test_a_repository_in_an_ignored_folder_keeps_the_worktree(yard: Yard) -> None:
    tree = yard.merged("one")
    (tree / "cache").mkdir()
    yard.git("init", "-q", "inner", at=tree / "cache")
    yard.keeps("one", "a repository of its own is in it", "cache/inner/")


def test_a_locked_worktree_stays(yard: Yard) -> None:
    tree = yard.merged("one")
    yard.git("worktree", "lock", "--reason", "on a stick", str(tree))
    yard.keeps("one", "git has it locked: on a stick")
    shutil.rmtree(tree)
    yard.keeps("one", "git has it locked: on a stick")


def test_a_detached_head_and_another_branch_keep_the_worktree(yard: Yard) -> None:
    tree = yard.merged("one")
    yard.git("checkout", "-q", "--detach", at=tree)
    yard.keeps("one", "no branch (HEAD is detached)")
    yard.git("checkout", "-q", "-b", "aside", at=tree)
    yard.keeps("one", "has `aside` checked out")


def test_a_branch_that_is_checked_out_elsewhere_too_stays(yard: Yard) -> None:
    yard.merged("one")
    elsewhere = yard.folder / "elsewhere"
    yard.git("worktree", "add", "-q", "--force", str(elsewhere), "planbound/one")
    yard.keeps("one", f"`planbound/one` is checked out at {elsewhere}, too")


def test_a_worktree_without_work_stays_until_its_plan_is_put_away(yard: Yard) -> None:
    tree = yard.spawn("one")
    yard.keeps("one", "nothing is committed in it yet, and the plan is `draft`")
    (yard.workspace / ".harness" / "PLAN-one.md").unlink()
    yard.goes("prune", "one")
    assert not tree.exists()


def test_what_is_only_in_the_branch_itself_is_lost_with_it_whatever_the_target(yard: Yard) -> None:
    yard.settings += '[worktrees]\ninto = "planbound/one"\n'
    tree = yard.spawn("one")
    yard.work(tree)
    yard.keeps("one", "1 commit is neither in `main` nor on a remote")


def test_nobody_prunes_the_ground_under_their_feet(yard: Yard) -> None:
    tree = yard.merged("one")
    other = yard.merged("two")
    done = yard.run("prune", cwd=tree / "src")
    assert done.code == 0, done.err
    assert "kept one  you are in it: go elsewhere first\n" in done.out
    assert f"removed two  {other}" in done.out
    assert tree.is_dir()


def test_a_fake_slot_and_a_broken_pointer_keep_what_is_there(yard: Yard) -> None:
    tree = yard.merged("one")
    (tree / ".git").write_text("gitdir: /nowhere\n")
    yard.keeps("one", "is no worktree of")
    shutil.rmtree(tree)
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "file").write_text("mine\n")
    yard.keeps("one", "is no worktree")
    assert (tree / "sub" / "file").read_text() == "mine\n"


def test_a_link_in_the_place_of_a_worktree_is_not_followed(yard: Yard) -> None:
    tree = yard.merged("one")
    moved = tree.rename(yard.folder / "moved")
    tree.symlink_to(moved)
    yard.keeps("one", f"there is a symbolic link at `{tree}`")
    assert (moved / "src" / "one").exists()


@pytest.mark.requirement("prune.unreadable")
def test_what_git_cannot_read_is_kept_and_the_others_go_on(yard: Yard) -> None:
    one, two, three = yard.merged("one"), yard.merged("two"), yard.merged("three")
    (yard.workspace / ".git/refs/heads/planbound/one").write_text("rubbish\n")
    # Its tree is not there any more.
    content = yard.git("rev-parse", "planbound/two^{tree}")
    (yard.workspace / ".git/objects" / content[:2] / content[2:]).unlink()
    done = yard.goes("prune", "--json")
    kept = {each["plan"]: each["reason"] for each in done.json["kept"]}
    assert "the branch `planbound/one` cannot be read" in kept["one"]
    assert "git cannot read" in kept["two"]
    assert [each["plan"] for each in done.json["removed"]] == ["three"]
    assert one.is_dir()
    assert two.is_dir()
    assert not three.exists()
    shutil.rmtree(one)
    found = yard.goes("prune", "one", "--json", code=1).json["kept"]
    assert "cannot be read" in found[0]["reason"]


def test_a_submodule_that_is_checked_out_keeps_the_worktree(yard: Yard) -> None:
    library = yard.folder / "library"
    yard.git("init", "-q", str(library))
    (library / "a").write_text("a")
    yard.commit("library", at=library)
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    yard.git(*add)
    yard.commit("with a library")
    tree = yard.merged("one")
    update = ("-c", "protocol.file.allow=always", "submodule", "update", "--init", "-q")
    yard.git(*update, at=tree)
    yard.keeps("one", "the submodule `lib` is checked out in it")
    assert (tree / "lib" / "a").exists()


def test_a_submodule_that_is_not_checked_out_is_no_obstacle(yard: Yard) -> None:
    library = yard.folder / "library"
    yard.git("init", "-q", str(library))
    (library / "a").write_text("a")
    yard.commit("library", at=library)
    yard.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    yard.commit("with a library")
    tree = yard.merged("one")
    yard.goes("prune", "one")
    assert not tree.exists()


def test_a_branch_that_only_stands_for_another_takes_nothing_with_it(yard: Yard) -> None:
    tree = yard.merged("one")
    tip = yard.git("rev-parse", "main")
    yard.git("symbolic-ref", "refs/heads/planbound/one", "refs/heads/main")
    shutil.rmtree(tree)
    yard.git("worktree", "prune")
    yard.goes("prune", "one")
    assert yard.git("rev-parse", "refs/heads/main") == tip
    assert yard.branches() == ["main"]


@pytest.mark.thorough
def test_a_worktree_in_which_somebody_works_stays(yard: Yard) -> None:
    yard.lay(WAITING, name="one")
    tree = Path(yard.goes("spawn", "one").out.strip())
    yard.approve("one")
    with yard.start("run", "one") as running:
        until((tree / "src" / "begun").exists, what="the agent never began")
        yard.keeps("one", f"process {running.pid} on", "works on `one` in it")
        running.terminate()
        running.communicate(timeout=30)
    (tree / "src" / "begun").unlink()
    yard.work(tree, "src/more")
    yard.git("merge", "-q", "planbound/one")
    yard.keeps("one", "the plan is in progress")


def test_a_name_that_nobody_knows_is_told(yard: Yard) -> None:
    yard.spawn("one")
    assert "no plan `uno` is known here" in yard.goes("prune", "uno", code=2).err


# -- what others left --------------------------------------------------------------------------


def test_a_binding_without_its_folder_is_forgotten_once_its_branch_is_merged(yard: Yard) -> None:
    tree = yard.spawn("one")
    tip = yard.work(tree)
    shutil.rmtree(tree)
    yard.keeps("one", "its folder is gone", tip[:12], "`planbound spawn one` brings it back")
    yard.git("merge", "-q", "planbound/one")
    yard.goes("prune", "one")
    assert yard.branches() == ["main"]
    assert yard.git("worktree", "list").count("\n") == 0
    assert yard.log("one").one("WORKTREE_REMOVED")["branch"] == "planbound/one"


def test_a_binding_without_folder_and_branch_is_forgotten(yard: Yard) -> None:
    tree = yard.merged("one")
    yard.git("worktree", "remove", "--force", str(tree))
    yard.git("branch", "-D", "planbound/one")
    assert yard.goes("prune").out == f"removed one  {tree}; its branch was gone\n"
    assert "branch" not in yard.log("one").one("WORKTREE_REMOVED").details


@pytest.mark.requirement("prune.resumes")
def test_a_prune_that_was_killed_is_finished_by_the_next_one(yard: Yard) -> None:
    tree = yard.merged("one")
    tip = yard.git("rev-parse", "planbound/one")
    died = yard.run("prune", PLANBOUND_FAILPOINT="before:WORKTREE_REMOVED:1")
    assert died.code == -signal.SIGKILL
    assert not tree.exists()
    assert not yard.log("one").of("WORKTREE_REMOVED")
    yard.goes("prune", "one")
    yard.log("one").one("WORKTREE_REMOVED")
    yard.goes("prune", "one", code=3)
    assert yard.git("merge-base", "--is-ancestor", tip, "main") == ""


@pytest.mark.parametrize("left", ["marker", "folder", "branch"])
def test_whatever_step_a_prune_was_cut_off_at_the_next_one_goes_on(yard: Yard, left: str) -> None:
    tree = yard.merged("one")
    if left == "marker":
        (tree / ".harness" / "active-plan").unlink()
    if left == "folder":
        (yard.workspace / ".harness" / "worktree-for-one").unlink()
        shutil.rmtree(tree)
    if left == "branch":
        yard.git("worktree", "remove", "--force", str(tree))
    yard.goes("prune", "one")
    assert not tree.exists()
    assert yard.branches() == ["main"]
    yard.log("one").one("WORKTREE_REMOVED")


@pytest.mark.thorough
def test_two_prunes_at_once_remove_everything_once(yard: Yard) -> None:
    trees = {name: yard.merged(name) for name in ("one", "two", "three")}
    with yard.start("prune", "--json") as first, yard.start("prune", "--json") as second:
        codes = {first.wait(60), second.wait(60)}
    assert codes <= {0, 3}
    assert len(yard.log().of("WORKTREE_REMOVED")) == len(trees)
    assert yard.branches() == ["main"]
    assert not any(tree.exists() for tree in trees.values())


def test_a_workspace_that_is_a_folder_of_the_repository_is_pruned_by_its_own_names(
    yard: Yard,
) -> None:
    app = yard.workspace / "app"
    yard.write("app/src/readme", "an app\n")
    yard.write("app/planbound.toml", '[worktrees]\nsetup = ["local"]\n')
    yard.commit("with an app")
    yard.write("app/local", "mine\n")
    yard.write("app/.harness/PLAN-one.md", plan_text(Step("Write one"), touches="src/*.log"))
    workspace = Path(yard.run("spawn", "one", cwd=app).out.strip()) / "app"
    yard.work(workspace, "src/two")
    yard.git("merge", "-q", "planbound/one")
    (workspace / "src" / "a.log").write_text("the result")
    done = yard.run("prune", "one", cwd=app)
    assert "1 file is ignored by git, and a result of the plan: src/a.log" in done.out
    (workspace / "src" / "a.log").rename(workspace / "a.log")
    done = yard.run("prune", "one", cwd=app)
    assert done.code == 0, done.out + done.err
    assert not workspace.parent.exists()
    assert (app / "local").read_text() == "mine\n"
