"""The checkout in which merges are judged: left for the next one, which believes nothing of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tables import first_always
from tests.team.test_integrate import LINES, Merging, as_it_was, names

CLEAN = "test ! -e planted && test ! -e src/x.ignored && grep -qx seven src/lines"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Merging, Path]:
    """Return a repository in which one plan was merged and one waits, and a copy of all of it."""
    repo = Merging(tmp_path_factory.mktemp("merged") / "world")
    repo.edited("first", "one", "ONE")
    repo.proved("second", after=[CLEAN])
    repo.integrate("first")
    kept = repo.folder.parent / "kept"
    shutil.copytree(repo.folder, kept, symlinks=True)
    return repo, kept


@pytest.fixture
def repo(template: tuple[Merging, Path]) -> Iterator[Merging]:
    """Return the repository as it was after the first merge."""
    yield from as_it_was(*template)


def checkout(repo: Merging) -> Path:
    return repo.folder / "state" / "merged" / "checkout"


def assert_plain(repo: Merging) -> None:
    """The checkout holds the newest merge, and nothing else."""
    there = checkout(repo)
    assert repo.git("status", "--porcelain", "--ignored", cwd=there) == ""
    assert repo.git("rev-parse", "HEAD", cwd=there) == repo.tip()
    assert (there / "src" / "lines").read_text() == LINES.replace("one", "ONE")
    assert str(there) in repo.worktrees(kept=True)


@pytest.mark.thorough
def test_the_next_merge_takes_the_checkout_over_and_gc_removes_it(repo: Merging) -> None:
    lines = checkout(repo) / "src" / "lines"
    assert_plain(repo)
    before = lines.stat()
    assert names(repo.integrate("second")["merged"]) == ["second"]
    assert_plain(repo)
    after = lines.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    # Nobody is told of it as of something that a process left, and no other command removes it.
    assert "scratch worktree" not in repo.run("doctor").out
    assert lines.exists()
    repo.goes("gc")
    assert not checkout(repo).exists()
    assert str(checkout(repo)) not in repo.worktrees(kept=True)


def changed(repo: Merging) -> None:
    """Change a file so that neither its size, its time nor the index tells."""
    lines = checkout(repo) / "src" / "lines"
    before = lines.stat()
    lines.write_text(lines.read_text().replace("seven", "SEVEN"))
    os.utime(lines, ns=(before.st_atime_ns, before.st_mtime_ns))
    repo.git("update-index", "--assume-unchanged", "src/lines", cwd=checkout(repo))


def planted(repo: Merging) -> None:
    (checkout(repo) / "planted").write_text("by somebody\n")


def ignored(repo: Merging) -> None:
    (checkout(repo) / "src" / "x.ignored").write_text("by somebody\n")


def gone(repo: Merging) -> None:
    (checkout(repo) / "src" / "lines").unlink()


def on_a_branch(repo: Merging) -> None:
    repo.git("update-ref", "refs/heads/other", "HEAD")
    repo.git("symbolic-ref", "HEAD", "refs/heads/other", cwd=checkout(repo))


def another_worktree(repo: Merging) -> None:
    pointer = repo.worktree("second") / ".git"
    (checkout(repo) / ".git").write_text(pointer.read_text())


def cut_off(repo: Merging) -> None:
    (repo.workspace / ".git" / "worktrees" / "checkout" / "index.lock").touch()


def unknown_to_git(repo: Merging) -> None:
    shutil.rmtree(repo.workspace / ".git" / "worktrees" / "checkout")


def no_folder(repo: Merging) -> None:
    shutil.rmtree(checkout(repo))
    checkout(repo).write_text("by somebody\n")


SPOILED = (
    changed,
    planted,
    ignored,
    gone,
    on_a_branch,
    another_worktree,
    cut_off,
    unknown_to_git,
    no_folder,
)


@pytest.mark.thorough
@pytest.mark.parametrize("spoil", first_always(SPOILED))
def test_a_checkout_that_holds_anything_else_is_made_anew(
    repo: Merging, spoil: Callable[[Merging], None]
) -> None:
    own = repo.worktree("second")
    before = repo.git("status", "--porcelain", cwd=own)
    spoil(repo)
    assert names(repo.integrate("second")["merged"]) == ["second"]
    assert repo.git("status", "--porcelain", cwd=own) == before
    assert_plain(repo)


def test_after_a_setup_it_is_made_anew_each_time(repo: Merging) -> None:
    repo.write(
        "planbound.toml", repo.settings + '[worktrees]\nsetup = [{ run = "touch made.ignored" }]\n'
    )
    assert names(repo.integrate("second")["merged"]) == ["second"]
    assert not checkout(repo).exists()
    assert repo.leftovers() == []
