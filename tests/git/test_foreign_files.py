"""What is in git's folder without being git's is told from what git needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from planbound.git.directory import foreign_files
from tests.git.git_scene import sh

_USUAL = """
git init -q -b main .
git config user.name a; git config user.email a@example.org
for n in 1 2 3; do echo $n > f; git add f; git commit -qm "number $n"; done
git branch other; git tag v1; git tag -a v2 -m two; git notes add -m noted
git repack -adq; git pack-refs --all; git commit-graph write 2>/dev/null; git multi-pack-index write
echo 4 > f; git commit -qam four; git branch late
echo 5 > f; git stash -q
git worktree add -q ../linked other; git -C ../linked commit -q --allow-empty -m linked
git clone -q . ../sub
git -c protocol.file.allow=always submodule -q add ../sub sub; git commit -qm sub
git fetch -q ../sub main
git update-index --split-index
"""
_NOT_READ = {"COMMIT_EDITMSG", "worktrees/linked/COMMIT_EDITMSG", "description", "info/refs"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("repository") / "top"
    top.mkdir()
    sh(top, _USUAL)
    return top


@pytest.fixture
def repository(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "top", symlinks=True))


def _foreign(top: Path) -> set[str]:
    kept = {"config", "modules/sub/config", "modules/sub/description"}
    found = foreign_files(str(top / ".git"), kept)
    return {name for name in found if "hooks/" not in name and "info/exclude" not in name}


def test_what_git_writes_is_its_own_and_is_enough_for_it(repository: Path) -> None:
    question = "git log --all --format='%H %s'; git stash list; git for-each-ref; git fsck --full"
    before = sh(repository, question)
    assert _foreign(repository) <= _NOT_READ
    for name in _foreign(repository):
        (repository / ".git" / name).unlink()
    assert sh(repository, question) == before
    assert sh(repository, "git status --short") == ""
    assert sh(repository / "sub", "git log -1 --format=%s") == "four\n"


@pytest.mark.parametrize(
    "name",
    [
        "refs/heads/code.py",
        "refs/heads/deep/code",
        "logs/refs/heads/code.py",
        "objects/code.py",
        "objects/ab/" + "0" * 38,
        "objects/pack/pack-" + "0" * 40 + ".idx",
        "objects/info/alternates",
        "packed-refs",
        "index",
        "ORIG_HEAD",
        "rebase-merge/done",
        "worktrees/linked/code.py",
        "worktrees/linked/locked",
        "modules/sub/objects/code.py",
        "modules/sub/HEAD",
        "modules/code.py",
    ],
)
def test_what_is_called_as_a_file_of_git_and_is_none_is_foreign(
    repository: Path, name: str
) -> None:
    path = repository / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text("# pack-refs with: peeled\ndef add(a, b):\n    return a + b\n")
    assert name in _foreign(repository)


def test_a_link_is_foreign_unless_it_stands_for_a_folder_of_another_repository(
    repository: Path,
) -> None:
    (repository / ".git" / "refs" / "heads" / "code").symlink_to("../../../f")
    shutil.move(repository / ".git" / "logs", repository / "kept")
    (repository / ".git" / "logs").symlink_to("../kept")
    assert _foreign(repository) - _NOT_READ == {"refs/heads/code"}
