"""What git knows of a workspace: whatever a contract can ask of it is in the digest."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from planbound.judging.outside import known_to_git
from planbound.workspace.scan import scan
from tests.tables import one_fact


def git(root: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t.example", *arguments]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


@pytest.fixture(scope="module")
def worktrees(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a repository, and another worktree of it."""
    main = tmp_path_factory.mktemp("repository") / "main"
    main.mkdir()
    git(main, "init", "-q", "-b", "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "one")
    git(main, "worktree", "add", "-q", "../linked")
    (main / ".git/hooks").mkdir(exist_ok=True)
    (main / ".git/hooks/pre-push").write_text("exit 0\n")
    (main.parent / "data").write_text("right\n")
    (main / ".git/info").mkdir(exist_ok=True)
    (main / ".git/info/behind").symlink_to(main.parent / "data")
    return main, main.parent / "linked"


CHANGES: list[Callable[[Path], object]] = [
    lambda main: (main / ".git/hooks/pre-push").chmod(0o755),
    lambda main: (main / ".git/hooks/pre-push").write_text("exit 1\n"),
    lambda main: (main.parent / "data").write_text("wrong\n"),
    lambda main: os.replace(_link(main, "other"), main / ".git/info/behind"),
]


def _link(main: Path, text: str) -> Path:
    link = main / ".git/info/new"
    link.symlink_to(text)
    return link


@pytest.mark.requirement("judging.reuse")
@one_fact("change", CHANGES)
def test_what_can_be_asked_of_git_is_in_the_digest(
    worktrees: tuple[Path, Path], change: Callable[[Path], object]
) -> None:
    main, linked = worktrees
    before = known_to_git(str(linked), scan(str(linked)))
    assert known_to_git(str(linked), scan(str(linked))) == before
    change(main)
    assert known_to_git(str(linked), scan(str(linked))) != before
