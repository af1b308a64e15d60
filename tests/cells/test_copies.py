"""Copies of a workspace: the same in everything that counts, whole or not there."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from planbound.cells.copies import WorkspaceCopies
from planbound.errors import AlreadyExists, FileProblem, Refused
from tests.cells.cell_bench import wait_until

pytestmark = pytest.mark.requirement("workspace.copies")


@pytest.fixture(name="source")
def _source(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    (source / "a/b/empty").mkdir(parents=True)
    (source / "a/file").write_text("content\n")
    (source / ".git").mkdir()
    (source / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (source / "run").write_text("#!/bin/sh\n")
    (source / "run").chmod(0o751)
    (source / "link").symlink_to("a/file")
    (source / "broken").symlink_to("/nowhere")
    (source / "folder-link").symlink_to("a")
    with open(source / "sparse", "wb") as file:
        file.truncate(50_000_000)
        file.write(b"start")
        file.seek(40_000_000)
        file.write(b"middle")
    os.utime(source / "a/file", ns=(10**18, 10**18 + 1234))
    (source / "a/b").chmod(0o550)
    return source


@pytest.fixture(name="copies")
def _copies(tmp_path: Path) -> WorkspaceCopies:
    return WorkspaceCopies(str(tmp_path / "copies"))


def _seen(top: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(top.rglob("*")):
        state = path.lstat()
        name = str(path.relative_to(top))
        if stat.S_ISLNK(state.st_mode):
            found[name] = ("link", os.readlink(path))
        elif stat.S_ISDIR(state.st_mode):
            found[name] = ("folder", state.st_mode)
        else:
            found[name] = ("file", state.st_mode, state.st_mtime_ns, path.read_bytes())
    return found


def test_a_copy_has_the_same_content_modes_links_and_times(
    source: Path, copies: WorkspaceCopies
) -> None:
    source.chmod(0o750)
    copy = Path(copies.make(str(source), "one"))
    assert _seen(copy) == _seen(source)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o750
    assert (copy / "sparse").stat().st_blocks * 512 < 10_000_000


def test_a_copy_and_its_original_are_apart(source: Path, copies: WorkspaceCopies) -> None:
    before = _seen(source)
    copy = Path(copies.make(str(source), "one"))
    (copy / "a/file").write_text("changed")
    (copy / "run").unlink()
    assert _seen(source) == before
    other = Path(copies.make(str(source), "two"))
    assert _seen(other) == before


def test_the_file_of_a_worktree_is_copied(tmp_path: Path, copies: WorkspaceCopies) -> None:
    source = tmp_path / "worktree"
    source.mkdir()
    (source / ".git").write_text("gitdir: /somewhere/.git/worktrees/x\n")
    copy = Path(copies.make(str(source), "one"))
    assert (copy / ".git").read_text() == "gitdir: /somewhere/.git/worktrees/x\n"


def test_what_is_no_file_is_left_out(source: Path, copies: WorkspaceCopies) -> None:
    os.mkfifo(source / "fifo")
    with contextlib.chdir(source), socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        copy = Path(copies.make(str(source), "one"))
    assert not (copy / "fifo").exists()
    assert not (copy / "socket").exists()
    assert (copy / "run").exists()


def test_copies_that_lie_in_the_workspace_are_not_copied(source: Path) -> None:
    copies = WorkspaceCopies(str(source / "state/copies"))
    copies.make(str(source), "one")
    copy = Path(copies.make(str(source), "two"))
    assert (copy / "state").is_dir()
    assert not (copy / "state/copies").exists()


def test_a_removed_copy_is_gone_with_what_nobody_may_write(
    source: Path, copies: WorkspaceCopies
) -> None:
    path = copies.make(str(source), "one")
    copies.remove(path)
    copies.remove(path)
    assert os.listdir(os.path.dirname(path)) == []
    assert Path(copies.make(str(source), "one")).is_dir()


def test_a_copy_is_not_made_over_another(source: Path, copies: WorkspaceCopies) -> None:
    copies.make(str(source), "one")
    with pytest.raises(AlreadyExists, match="`one`"):
        copies.make(str(source), "one")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden", "/etc"])
def test_a_copy_lies_in_its_folder(source: Path, copies: WorkspaceCopies, name: str) -> None:
    with pytest.raises(Refused):
        copies.make(str(source), name)


def test_only_copies_are_removed(source: Path, copies: WorkspaceCopies, tmp_path: Path) -> None:
    for path in (str(source), str(tmp_path), str(tmp_path / "copies"), "/"):
        with pytest.raises(Refused):
            copies.remove(path)
    assert (source / "run").exists()


def test_what_cannot_be_copied_is_said(copies: WorkspaceCopies, tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="missing"):
        copies.make(str(tmp_path / "missing"), "one")
    assert os.listdir(tmp_path / "copies") == []


def test_a_sweep_keeps_what_is_named(source: Path, copies: WorkspaceCopies, tmp_path: Path) -> None:
    assert copies.sweep(()) == []
    paths = [copies.make(str(source), name) for name in ("one", "two", "three")]
    assert copies.sweep({paths[1]}) == sorted([paths[0], paths[2]])
    assert os.listdir(tmp_path / "copies") == ["two"]


_MAKER = """
import sys
from planbound.cells.copies import WorkspaceCopies
WorkspaceCopies(sys.argv[1]).make(sys.argv[2], "one")
"""


@pytest.mark.thorough
def test_half_a_copy_is_never_taken_for_one(source: Path, tmp_path: Path) -> None:
    for number in range(3000):
        (source / f"{number}").write_text("x")
    root = tmp_path / "copies"
    copies = WorkspaceCopies(str(root))
    arguments = [sys.executable, "-c", _MAKER, str(root), str(source)]
    with subprocess.Popen(arguments) as maker:
        assert wait_until(lambda: root.is_dir() and os.listdir(root))
        maker.send_signal(signal.SIGSTOP)
        (name,) = os.listdir(root)
        assert name != "one"
        # Somebody who is alive is still at it.
        assert copies.sweep(()) == []
        maker.kill()
    assert copies.sweep(()) == [str(root / name)]
    assert os.listdir(root) == []
    assert _seen(Path(copies.make(str(source), "one"))) == _seen(source)
