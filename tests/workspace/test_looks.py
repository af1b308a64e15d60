"""What many files look like is what each looks like, whoever is asked."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from planbound.workspace import looks as module
from planbound.workspace.known import KnownFiles
from planbound.workspace.looks import SIZE, Looker, columns, facts, look_of, rows
from planbound.workspace.scan import _Walk, scan
from planbound.workspace.stamps import Clocks, moment

pytestmark = pytest.mark.requirement("workspace.manifest")


def later() -> Clocks:
    now = moment()
    return Clocks(now.wall + 10**10, now.since_boot + 10**10)


def fill(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        name = os.fsencode(f"file{number}") + (b"\xff\n" if number % 3 == 0 else b"")
        path = os.fsencode(folder) + b"/" + name
        with open(path, "wb") as file:
            file.write(b"x" * number)
        os.chmod(path, 0o600 + number % 8)
        os.utime(path, ns=(number, (number - 5) * 1_500_000_001))  # some before 1970


def listed(folder: Path) -> tuple[int, list[os.DirEntry[str]]]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with os.scandir(opened) as found:
        return opened, list(found)


@pytest.mark.parametrize("count", [0, 1, 40, 2500])
def test_the_kernel_says_of_many_what_python_says_of_each(tmp_path: Path, count: int) -> None:
    fill(tmp_path / "tree", count)
    (tmp_path / "tree/link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "tree/fifo")
    opened, found = listed(tmp_path / "tree")
    try:
        given = Looker().looks_in(opened, "/".join(each.name for each in found), found)
        assert given is not None
        single = [look_of(each.stat(follow_symlinks=False)) for each in found]
        assert rows(given) == single
        assert given == columns(b"".join(single))
        sizes = [(each.stat(follow_symlinks=False)) for each in found]
        assert facts(b"".join(single)) == [(each.st_mode, each.st_size) for each in sizes]
        assert len(given) == SIZE * len(found)
    finally:
        os.close(opened)


@pytest.mark.parametrize("count", [3, 40, 2500])
def test_where_one_is_gone_nobody_knows_what_any_looks_like(tmp_path: Path, count: int) -> None:
    fill(tmp_path / "tree", count)
    opened, found = listed(tmp_path / "tree")
    try:
        os.unlink(os.fsencode(tmp_path / "tree") + b"/" + os.fsencode(found[-1].name))
        assert Looker().looks_in(opened, "/".join(each.name for each in found), found) is None
    finally:
        os.close(opened)


def test_without_statx_a_tree_looks_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "tree", 300)
    known = KnownFiles(None, later)
    root = str(tmp_path / "tree")
    found = [scan(root, known=known) for _ in range(3)]
    monkeypatch.setattr(module, "_statx", lambda: None)
    again = scan(root, known=known)
    assert again.looks == found[-1].looks
    assert again.entries is found[-1].entries
    (tmp_path / "tree/file1").write_bytes(b"z")
    assert scan(root, known=known).digest != again.digest


def test_a_statx_that_says_another_thing_than_python_is_not_asked() -> None:
    def lies(_folder: int, _name: bytes, _flags: int, _mask: int, _place: object) -> int:
        return 0

    assert not module._agrees(module._Statx(lies))
    assert not module._agrees(module._Statx(lambda *_: -1))


def test_a_walk_leaves_nothing_behind_that_somebody_would_have_to_collect(tmp_path: Path) -> None:
    fill(tmp_path / "tree", 40)
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()  # as the program does
    try:
        scan(str(tmp_path / "tree"), known=KnownFiles(None, later))
        walks = [each for each in gc.get_objects() if isinstance(each, Looker | _Walk)]
    finally:
        if was_enabled:
            gc.enable()
    assert walks == []


def test_a_folder_that_takes_the_place_of_a_file_is_seen(tmp_path: Path) -> None:
    fill(tmp_path / "tree/part", 300)
    known = KnownFiles(None, later)
    root = str(tmp_path / "tree")
    for _ in range(2):
        scan(root, known=known)
    os.unlink(tmp_path / "tree/part/file1")
    (tmp_path / "tree/part/file1").mkdir()
    (tmp_path / "tree/part/file1/inner").write_text("x")
    assert scan(root, known=known)._replace(looks=None) == scan(root)
