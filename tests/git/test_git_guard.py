"""What an agent destroys in a repository comes back, whichever cell it was in."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from planbound.git import backup as keeping
from planbound.git.backup import Level
from planbound.git.guard import Damage, GitGuard
from planbound.git.repository import MOVES, Repository
from tests.cells import cell_bench
from tests.cells.cell_bench import Bench, cells
from tests.git import git_scene
from tests.git.git_scene import facts, sh
from tests.tables import first_always

pytestmark = pytest.mark.requirement("run.repository")

bench = cell_bench.bench

BARE = Level(mounts=False, walls=False)
LEVELS = {
    "namespaces": Level(mounts=True, walls=True),
    "bubblewrap": Level(mounts=True, walls=True),
    "landlock": Level(mounts=False, walls=True),
    "copy": Level(mounts=False, walls=False),
}
WORST = (
    "rm -rf .git",
    "find .git/objects -type f | while read f; do chmod u+w $f; echo junk > $f; done",
    "git reset -q --hard HEAD~2; git branch -D other; git stash drop; git tag -d v1",
)
DESTRUCTIVE = {
    "rm -rf .git": "everything in `.git`",
    "mv .git away; ln -s away .git": "everything in `.git`",
    "mv .git away; echo x > .git": "everything in `.git`",
    "rm -rf .git/objects": "17 objects",
    "for p in .git/objects/pack/*; do chmod u+w $p; : > $p; done": "13 objects",
    "git reset -q --hard HEAD~2": "`main` at",
    "git commit -q --amend -m other": "`main` at",
    "git branch -D other": "`other` at",
    "git update-ref -d refs/heads/other": "`other` at",
    "git branch -m other else": "`other` at",
    "git tag -f v1 HEAD": "`v1` at",
    "echo garbage > .git/refs/heads/main": "`main` at",
    "git commit-tree -m x HEAD^{tree} > x; mv x .git/refs/heads/main": "`main` at",
    "rm -rf .git/refs .git/packed-refs": "`v1` at",
    "git stash drop": "1 stash",
    "git stash clear": "1 stash",
    "git stash pop": "1 stash",
    "rm -f .git/refs/stash .git/packed-refs": "`v1` at",
    "git reflog expire --expire=now --all; git gc -q --prune=now": "3 reflogs",
    "rm -r .git/logs": "3 reflogs",
    "rm .git/HEAD": "HEAD",
    "echo x > .git/HEAD": "HEAD",
    "rm .git/index": "the index",
    "head -c 40 .git/index > x; mv x .git/index": "the index",
    "git read-tree --empty": "the index",
    "echo /nowhere > .git/objects/info/alternates": "alternates",
    "git rev-parse HEAD > .git/shallow": "shallow",
    "git replace HEAD HEAD~1": "refs/replace/",
    "rm .git/config": "`.git/config`",
}
HARMLESS = (
    "true",
    "git status; git diff; git log; git fetch -q . main",
    "git add -A; git commit -qm mine",
    "git checkout -q -b mine; echo x > new; git add new; git commit -qm mine; git checkout -q main",
    "git checkout -q -b mine; git checkout -q main; git branch -D mine; git tag t; git tag -d t",
    "git stash -q; git stash pop -q",
    "git stash push -qm mine",
    "git pack-refs --all; git gc -q",
    "git commit -qm x; git merge -q --no-ff v1 -m m; git rebase -q HEAD",
    "git commit -qm one; git commit -q --amend -m two; git reset -q --soft HEAD~1",
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository that is only copied."""
    folder = tmp_path_factory.mktemp("scene") / "repo"
    git_scene.make(folder)
    return folder


class Scene:
    """A copy of the repository, and its guard."""

    def __init__(self, scene: Path, folder: Path, level: Level = BARE) -> None:
        self.folder = folder
        self.repo = folder / "repo"
        shutil.rmtree(self.repo, ignore_errors=True)
        shutil.copytree(scene, self.repo, symlinks=True)
        self.guard = self.anew(level)

    def anew(self, level: Level = BARE) -> GitGuard:
        """Return the guard that another process would have."""
        place = str(self.repo)
        return GitGuard(str(self.folder / "kept"), place, place, level, str(self.folder / "moves"))

    def keep(self, run: str = "1", touches: str | None = None) -> tuple[str, ...]:
        """Begin an attempt; `touches` is the one path that it may change."""
        may_move = None if touches is None else touches.__eq__
        return self.guard.keep(str(self.repo), None, run, may_move)

    def after(self, script: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what an agent destroyed, and what else was put back."""
        self.keep()
        sh(self.repo, f"{script}\ntrue")
        found = self.guard.look(str(self.repo))
        self.guard.settle(str(self.repo))
        return found.destroyed, found.mended


@pytest.mark.thorough
def test_everything_that_was_destroyed_is_named_and_put_back(scene: Path, tmp_path: Path) -> None:
    whole = facts(scene)
    for number, (script, name) in enumerate(DESTRUCTIVE.items()):
        there = Scene(scene, tmp_path / str(number))
        before = dict(whole)  # a copy of it has the same
        destroyed, _ = there.after(f"( {script} ) > /dev/null 2>&1")
        after = facts(there.repo)
        assert any(name in each for each in destroyed), (script, destroyed)
        _hold(after, before, script)


def _hold(after: dict[str, str], before: dict[str, str], script: str) -> None:
    """Demand that everything is as before; what an agent did may be there, too."""
    for name in ("refs", "reflog", "commits"):
        lost = set(before.pop(name).splitlines()) - set(after.pop(name).splitlines())
        assert not lost, (script, name)
    assert after == before, script


@pytest.mark.thorough
def test_what_an_honest_agent_does_with_git_stays(scene: Path, tmp_path: Path) -> None:
    for number, script in enumerate(HARMLESS):
        there = Scene(scene, tmp_path / str(number))
        twin = tmp_path / f"twin-{number}"
        shutil.copytree(there.repo, twin, symlinks=True)
        sh(twin, script)
        destroyed, _ = there.after(script)
        assert destroyed == (), script
        now, expected = facts(there.repo), facts(twin)
        assert now["fsck"] == "", script
        for name in ("refs", "stashes", "commits"):
            # Commits of the two were not written in the same second.
            assert len(now[name].splitlines()) == len(expected[name].splitlines()), (script, name)
        assert now["HEAD"] == expected["HEAD"], script


@pytest.mark.thorough
@cells("namespaces", "bubblewrap", "landlock", "copy")
def test_no_cell_lets_a_repository_be_lost(bench: Bench, scene: Path, tmp_path: Path) -> None:
    level = LEVELS[bench.kind]
    for number, script in enumerate(WORST):
        there = Scene(scene, tmp_path / str(number), level)
        before = facts(there.repo)
        sealed = there.keep()
        bench.run(script, workspace=str(there.repo), writable=True, read_only=sealed)
        found = there.guard.look(str(there.repo))
        after = facts(there.repo)
        assert found.destroyed, script
        _hold(after, before, script)


@pytest.mark.thorough
@cells("namespaces", "bubblewrap")
def test_a_large_pack_is_not_copied_and_cannot_be_written(bench: Bench, tmp_path: Path) -> None:
    repo = bench.workspace
    sh(
        repo,
        "git init -q .; git config user.email a@b; git config user.name A;"
        "head -c 2000000 /dev/urandom > large; git add large; git commit -qm large; git gc -q",
    )
    place = str(repo)
    guard = GitGuard(str(tmp_path / "kept"), place, place, LEVELS[bench.kind], str(tmp_path / "m"))
    sealed = guard.keep(place, None, "1")
    assert [name.rpartition(".")[2] for name in sealed] == ["pack"]
    pack = repo / sealed[0]
    state = pack.stat()
    assert state.st_nlink == 2  # no byte was copied
    bench.run(
        "chmod u+w .git/objects/pack/*; for p in .git/objects/pack/*; do echo x > $p; done;"
        "rm -rf .git; mv .git away",
        writable=True,
        read_only=sealed,
    )
    assert guard.look(place).destroyed
    assert (pack.stat().st_ino, pack.stat().st_mtime_ns) == (state.st_ino, state.st_mtime_ns)
    assert sh(repo, "git fsck 2>&1; git log --format=%s") == "large\n"


@pytest.mark.thorough
def test_who_comes_after_a_kill_heals_and_still_knows(scene: Path, tmp_path: Path) -> None:
    there = Scene(scene, tmp_path)
    before = facts(there.repo)
    there.keep()
    sh(there.repo, "rm -rf .git")
    for record in (tmp_path / "kept").glob("kept-*/record.json"):
        # As if its process were no more.
        record.write_text(record.read_text().replace('"by": "', '"by": "no '))
    there.anew().heal()
    assert facts(there.repo) == before
    # What somebody does before the run goes on is not the agent's doing.
    sh(there.repo, "git branch -D other")
    # Who judges what was left is told, and so is who asks again.
    for _ in range(2):
        assert "everything in `.git`" in there.anew().look(str(there.repo)).destroyed
    there.anew().settle(str(there.repo))
    assert there.anew().look(str(there.repo)).destroyed == ()
    assert sh(there.repo, "git branch --format='%(refname:short)'") == "main\n"


@pytest.mark.thorough
def test_an_agent_may_take_back_its_own_commits_and_nobody_elses(
    scene: Path, tmp_path: Path
) -> None:
    there = Scene(scene, tmp_path)
    assert there.after("git commit -qm mine; git branch own; echo z > f3; git stash -q")[0] == ()
    # The next attempt of the same run.
    undone = "git reset -q --hard HEAD~1; git branch -D own; git stash drop -q"
    assert there.after(undone)[0] == ()
    # Another commit, which somebody builds upon meanwhile.
    assert there.after("echo x > f3; git commit -qam mine")[0] == ()
    sh(there.repo, "echo y > f3; git commit -qam theirs")
    (destroyed,) = there.after("git reset -q --hard HEAD~1")[0]
    assert destroyed.startswith("`main` at")
    assert sh(there.repo, "git log -1 --format=%s") == "theirs\n"


def test_what_runs_code_does_not_survive_where_nobody_else_looks(
    scene: Path, tmp_path: Path
) -> None:
    repo = Scene(scene, tmp_path).repo
    linked = tmp_path / "linked"  # whose tree does not hold the repository
    sh(repo, "git worktree add -q ../linked other")
    guard = GitGuard(str(tmp_path / "k"), str(linked), str(repo), BARE, str(tmp_path / "moves"))
    before = facts(repo)
    guard.keep(str(linked), None, "1")
    sh(linked, "git config core.fsmonitor x")
    sh(repo, "cd .git; echo x | tee hooks/pre-commit info/attributes")
    assert guard.look(str(linked)) == Damage(
        mended=("`.git/config`", "`.git/hooks/pre-commit`", "`.git/info/attributes`")
    )
    assert facts(repo) == before


@pytest.mark.thorough
def test_linked_worktrees_submodules_nested_and_separate_repositories(
    scene: Path, tmp_path: Path
) -> None:
    there = Scene(scene, tmp_path)
    repo = there.repo
    sh(repo, f"git worktree add -q ../linked other; git clone -q {scene} nested")
    sh(repo, f"git -c protocol.file.allow=always submodule --quiet add {scene} sub")
    sh(repo, "git commit -qm sub; echo staged > f2; git add f2")
    linked = tmp_path / "linked"
    sh(linked, "echo x > f1; git add f1")
    places = (repo, linked, repo / "nested", repo / "sub")
    before = [facts(place) for place in places]
    destroyed, _ = there.after("rm -rf .git nested/.git")
    assert "everything in `.git`" in destroyed
    assert [facts(place) for place in places] == before
    # From the linked worktree, by an agent that nothing walls off.
    guard = GitGuard(str(tmp_path / "k"), str(linked), str(repo), BARE, str(tmp_path / "moves"))
    guard.keep(str(linked), None, "1")
    sh(linked, "rm -rf $(git rev-parse --git-common-dir); rm .git")
    assert "`.git` of the worktree" in guard.look(str(linked)).destroyed
    assert [facts(place) for place in places] == before
    # A repository that keeps its files elsewhere.
    sh(repo, "git init -q --separate-git-dir=../elsewhere")
    sh(tmp_path, "sed -i s,repo/.git,elsewhere, linked/.git")
    before = [facts(repo)]
    assert there.after("rm -rf ../elsewhere .git")[0]
    assert [facts(repo)] == before


def test_what_the_harness_itself_moves_meanwhile_is_not_the_agents_doing(
    scene: Path, tmp_path: Path
) -> None:
    there = Scene(scene, tmp_path)
    repository = Repository(str(there.repo / ".git"), str(there.repo), str(tmp_path / "view"))
    there.guard._moves = str(tmp_path / "view" / MOVES)
    repository.add(str(tmp_path / "linked"), "plan", repository.tip("other") or "")
    there.keep()
    assert repository.move("other", None, repository.tip("other"), "pruned")
    repository.remove(str(tmp_path / "linked"))
    assert repository.move("plan", None, repository.tip("plan"), "pruned")
    assert there.guard.look(str(there.repo)).destroyed == ()
    assert repository.branches() == ["main"]


def test_agents_that_work_at_once_in_one_workspace_are_all_looked_at(
    scene: Path, tmp_path: Path
) -> None:
    set_up = Scene(scene, tmp_path)
    guard, root = set_up.guard, str(set_up.repo)
    before = facts(set_up.repo)
    set_up.keep()
    set_up.keep()
    sh(set_up.repo, "git branch -D other")
    # Who ends first is told, and what was kept for the other one stays.
    assert any("`other` at" in each for each in guard.look(root).destroyed)
    guard.settle(root)
    sh(set_up.repo, "rm -rf .git")
    assert guard.look(root).destroyed
    guard.settle(root)
    assert facts(set_up.repo) == before
    # The next one begins while the last has been looked at, and is not settled.
    set_up.keep()
    assert not guard.look(root).destroyed
    set_up.keep()
    guard.settle(root)
    sh(set_up.repo, "git stash clear")
    assert guard.look(root).destroyed
    guard.settle(root)
    # Nobody works any more: what a person does is nobody's concern.
    sh(set_up.repo, "git branch -D other")
    set_up.anew().heal()
    assert not set_up.anew().look(root).destroyed


@pytest.mark.thorough
def test_what_an_agent_closes_is_opened_again(scene: Path, tmp_path: Path) -> None:
    scripts = (
        "chmod 000 .git",
        "chmod -R a-w .git",
        "chmod 000 .git/objects/??/* .git/HEAD .git/index .git/logs/HEAD .git/refs/heads/main",
        "chmod 000 .git/refs .git/objects",
    )
    for number, script in enumerate(scripts):
        there = Scene(scene, tmp_path / str(number))
        before = facts(there.repo)
        assert there.after(script) == ((), ("permissions in `.git`",)), script
        closed = "find .git -type d ! -perm -u+rwx -o ! -perm -u+r -o -path '*/logs/*' ! -perm -u+w"
        assert sh(there.repo, closed) == "", script
        assert facts(there.repo) == before, script
    assert there.after("chmod 000 .") == ((), ("permissions of the workspace",))
    assert there.repo.stat().st_mode & 0o700 == 0o700
    # What somebody else had closed stays so.
    sh(there.repo, "chmod 400 .git/description; touch -d '1 day ago' .git/description")
    assert there.after("git status")[1] == ()


def test_locks_that_nobody_holds_are_removed(scene: Path, tmp_path: Path) -> None:
    there = Scene(scene, tmp_path)
    assert there.after("touch .git/index.lock .git/HEAD.lock") == ((), ())
    sh(there.repo, "git add -A; git commit -qm on; echo more > f3")
    there.keep()
    # Somebody who is about to write a message in another terminal.
    with subprocess.Popen(
        ["git", "commit", "-a"],
        cwd=there.repo,
        env={**os.environ, "GIT_EDITOR": "echo; read -r line; :"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as theirs:
        assert theirs.stdin is not None
        assert theirs.stdout is not None
        theirs.stdout.readline()
        there.guard.look(str(there.repo))
        is_there = (there.repo / ".git" / "index.lock").exists()
        theirs.stdin.close()
    assert is_there


def test_where_head_was_before_is_kept(scene: Path, tmp_path: Path) -> None:
    there = Scene(scene, tmp_path)
    sh(there.repo, "git rev-parse HEAD~1 > .git/ORIG_HEAD")
    there.after("rm -rf .git")
    assert sh(there.repo, "git rev-parse ORIG_HEAD") == sh(there.repo, "git rev-parse HEAD~1")


@pytest.mark.thorough
@pytest.mark.requirement("run.index")
def test_long_ids_and_a_repository_without_a_commit(tmp_path: Path) -> None:
    long, new = tmp_path / "long", tmp_path / "new"
    for repo in (long, new):
        repo.mkdir()
        sh(repo, "git init -q --object-format=sha256 .; echo x > x; git add x")
    own = "git -c user.name=a -c user.email=a@b"
    sh(long, f"{own} commit -qm x; echo y > x; {own} stash -q; echo z > z; git add z; git gc -q")
    guard = GitGuard(str(tmp_path / "k"), str(long), str(long), BARE, str(tmp_path / "m"))
    before = facts(long)
    for script in (f"echo w > x; {own} stash -q; git stash drop -q 'stash@{{1}}'", "rm -rf .git"):
        guard.keep(str(long), None, "1")
        sh(long, script)
        assert guard.look(str(long)).destroyed, script
    assert before["stashes"].splitlines()[0].partition(" ")[2] in facts(long)["stashes"]
    guard.keep(str(long), None, "1")
    sh(long, "echo x > stray; git add stray")
    guard.look(str(long))
    guard.unstage(str(long), ["stray"])
    assert (facts(long)["index"], facts(long)["fsck"]) == (before["index"], before["fsck"])
    guard = GitGuard(str(tmp_path / "n"), str(new), str(new), BARE, str(tmp_path / "m"))
    guard.keep(str(new), None, "1")
    sh(new, "rm -rf .git")
    assert "the index" in guard.look(str(new)).destroyed
    assert sh(new, "git ls-files") == "x\n"
    guard.keep(str(new), None, "2")
    sh(new, f"{own} commit -qm first")
    assert guard.look(str(new)).destroyed == ()


@pytest.mark.requirement("run.index")
def test_paths_of_the_index_are_put_back_and_nothing_else_of_it(
    scene: Path, tmp_path: Path
) -> None:
    there = Scene(scene, tmp_path)
    before = facts(there.repo)["index"].splitlines()
    there.keep()
    sh(there.repo, "echo x > new; echo x > mine; echo x > f3; git add new mine f3; git rm -q f4")
    there.guard.look(str(there.repo))
    there.guard.unstage(str(there.repo), ["new", "f3", "f4"])
    after = facts(there.repo)["index"].splitlines()
    assert [line for line in after if not line.endswith("mine")] == before
    assert len(after) == len(before) + 1
    # What was staged before, and an agent took out of the index.
    assert there.after("git reset -q")[1] == ("2 staged changes",)
    assert [line for line in facts(there.repo)["index"].splitlines() if "f2" in line] == [
        line for line in before if "f2" in line
    ]


def test_files_that_the_harness_moves_or_is_about_to_write_are_not_the_agents_doing(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Scene(scene, tmp_path)
    plans = there.repo / ".harness"
    (plans / "archive").mkdir(parents=True)
    half = plans / ".PLAN-other.md.f3-b05be85cd8880cc0.tmp"
    gone = plans / "progress.md"
    for path in (half, gone, plans / "PLAN-mine.md", plans / "PLAN-other.md"):
        path.write_text(f"# {path.name}\n")
    scan = keeping.plain_files

    def raced(root: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        found = list(scan(root))
        gone.unlink(missing_ok=True)  # between the look and the copy
        return iter(found)

    monkeypatch.setattr(keeping, "plain_files", raced)
    there.keep()
    there.keep()  # for another agent, which works on when the first is looked at
    half.unlink()
    (plans / "PLAN-other.md").rename(plans / "archive" / "PLAN.archive.20260101-other.md")
    assert there.guard.look(str(there.repo)).destroyed == ()
    there.guard.settle(str(there.repo))
    (plans / "PLAN-mine.md").unlink()
    assert there.guard.look(str(there.repo)).destroyed == ("`.harness/PLAN-mine.md`",)
    assert sorted(path.name for path in plans.rglob("*.*")) == [
        "PLAN-mine.md",
        "PLAN.archive.20260101-other.md",
    ]


_ON_OTHER = "git checkout -q other; git commit -q --allow-empty -m mine; git checkout -q main"


@pytest.mark.parametrize(
    "script",
    first_always(
        [
            "git update-ref refs/heads/other main",
            "git branch -f other main",
            "git fetch -q . main:other",
            _ON_OTHER,
            _ON_OTHER.removesuffix("; git checkout -q main"),
            "git pack-refs --all; git update-ref refs/heads/other main; git pack-refs --all",
        ]
    ),
)
def test_another_branch_that_only_moves_on_is_out_of_scope_and_put_back(
    scene: Path, tmp_path: Path, script: str
) -> None:
    there = Scene(scene, tmp_path)
    sh(there.repo, "git stash -q")
    before = facts(there.repo)
    there.keep(touches="a.txt")
    sh(there.repo, script)
    found = there.guard.look(str(there.repo))
    assert (found.strayed, found.destroyed) == ((".git/refs/heads/other",), ())
    assert there.guard.look(str(there.repo)).strayed == found.strayed
    there.guard.settle(str(there.repo))
    after = facts(there.repo)
    assert after["fsck"] == ""
    assert {name: after[name] for name in ("refs", "HEAD", "index")} == {
        name: before[name] for name in ("refs", "HEAD", "index")
    }


@pytest.mark.parametrize(
    ("script", "touches"),
    [
        ("git commit -q --allow-empty -m mine", "a.txt"),
        (_ON_OTHER, ".git/refs/heads/other"),
        ("git checkout -q -b mine; git commit -q --allow-empty -m mine; git branch more", "a.txt"),
        ("git update-ref refs/remotes/origin/main main; git tag t", "a.txt"),
        ("git branch mine other; git branch -f mine main; git branch -D mine", "a.txt"),
        ("git -C ../linked commit -q --allow-empty -m theirs", "a.txt"),
    ],
)
def test_the_branch_that_is_checked_out_and_new_ones_are_in_scope(
    scene: Path, tmp_path: Path, script: str, touches: str
) -> None:
    there = Scene(scene, tmp_path)
    sh(there.repo, "git stash -q; git worktree add -q -b linked ../linked")
    there.keep(touches=touches)
    sh(there.repo, script)
    before = sh(there.repo, "git for-each-ref")
    found = there.guard.look(str(there.repo))
    assert (found.strayed, found.destroyed) == ((), ())
    assert sh(there.repo, "git for-each-ref") == before


@pytest.mark.parametrize(
    "flag",
    ["assume-unchanged", "skip-worktree", "assume-unchanged f2; git update-index --split-index"],
)
def test_git_looks_again_at_what_it_was_told_to_overlook(
    scene: Path, tmp_path: Path, flag: str
) -> None:
    there = Scene(scene, tmp_path)
    end = "" if "f2" in flag else " f2"
    sh(there.repo, "git reset -q --hard; git update-index --skip-worktree f1")
    destroyed, mended = there.after(f"echo other > f2; git update-index --{flag}{end}")
    assert (destroyed, mended) == ((), ("1 file that git was told not to look at",))
    assert sh(there.repo, "git diff --name-only") == "f2\n"
    assert sh(there.repo, "git ls-files -v f1") == "S f1\n", "what a person said stays"
