"""Contents are read and put back within the tree, whatever lies in the way."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.errors import FileProblem
from planbound.workspace.contents import put_back, read_contents
from planbound.workspace.manifest import Entry, EntryType, changes
from planbound.workspace.scan import scan
from tests.examples import examples
from tests.program import _drop_override

DIRECTORY = Entry(EntryType.DIRECTORY, 0o755, 0, b"")
LIMIT = 10**6


def file(content: bytes, mode: int = 0o644) -> Entry:
    return Entry(EntryType.FILE, mode, len(content), hashlib.sha256(content).digest())


def link(target: bytes) -> Entry:
    return Entry(EntryType.LINK, 0o777, 0, target)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "src/deep").mkdir(parents=True)
    (root / "src/deep/a").write_bytes(b"one")
    (root / "src/b").write_bytes(b"two")
    (root / "src/copy").write_bytes(b"two")
    (root / "z").write_bytes(b"three")
    return root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "precious").write_bytes(b"precious")
    return folder


def read(tree: Path, wanted: set[bytes] | None = None, limit: int = LIMIT) -> list[bytes]:
    found = list(read_contents(str(tree), scan(str(tree)), wanted, limit=limit))
    assert all(hashlib.sha256(content).digest() == sha256 for sha256, content in found)
    return [content for _, content in found]


# -- reading ---------------------------------------------------------------------------------------


def test_each_content_is_read_once(tree: Path) -> None:
    assert sorted(read(tree)) == [b"one", b"three", b"two"]
    assert read(tree, {hashlib.sha256(b"two").digest()}) == [b"two"]
    assert sorted(read(tree, limit=3)) == [b"one", b"two"]


def test_what_is_not_as_it_was_is_left_out(tree: Path, outside: Path) -> None:
    manifest = scan(str(tree))
    (tree / "z").write_bytes(b"THREE")
    (tree / "src/b").unlink()
    (tree / "src/copy").write_bytes(b"two and more")
    shutil.copytree(tree / "src/deep", outside / "deep")
    shutil.rmtree(tree / "src/deep")
    (tree / "src/deep").symlink_to(outside / "deep")
    assert list(read_contents(str(tree), manifest, None, limit=LIMIT)) == []


def test_a_fifo_in_the_place_of_a_file_does_not_block(tree: Path) -> None:
    manifest = scan(str(tree))
    (tree / "z").unlink()
    os.mkfifo(tree / "z")
    contents = dict(read_contents(str(tree), manifest, None, limit=LIMIT)).values()
    assert sorted(contents) == [b"one", b"two"]


def test_reading_leaves_no_directory_open(tree: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    reading = read_contents(str(tree), scan(str(tree)), None, limit=LIMIT)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    read(tree)
    assert len(os.listdir("/proc/self/fd")) == before


# -- putting back ----------------------------------------------------------------------------------


def test_a_file_comes_back_with_its_mode_and_with_its_directories(tree: Path) -> None:
    put_back(str(tree), b"new/dir/x", file(b"content", 0o4751), b"content")
    path = tree / "new/dir/x"
    assert path.read_bytes() == b"content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o4751
    assert os.listdir(path.parent) == ["x"]


def test_a_file_takes_the_place_of_anything(tree: Path, outside: Path) -> None:
    (tree / "link").symlink_to(outside / "precious")
    (tree / "loop").symlink_to("loop")
    (tree / "to-folder").symlink_to(outside)
    os.mkfifo(tree / "fifo")
    (tree / "src/inner").symlink_to(outside)
    for name in (b"z", b"link", b"loop", b"to-folder", b"fifo", b"src"):
        put_back(str(tree), name, file(b"back"), b"back")
        path = tree / name.decode()
        assert path.is_file()
        assert not path.is_symlink()
        assert path.read_bytes() == b"back"
    assert (outside / "precious").read_bytes() == b"precious"


def test_a_directory_takes_the_place_of_anything_but_of_a_directory(
    tree: Path, outside: Path
) -> None:
    (tree / "to-folder").symlink_to(outside)
    for name in (b"z", b"to-folder", b"fresh/one", b"src"):
        put_back(str(tree), name, DIRECTORY._replace(mode=0o710), None)
        found = os.lstat(tree / name.decode())
        assert stat.S_ISDIR(found.st_mode)
        assert stat.S_IMODE(found.st_mode) == 0o710
    assert (tree / "src/b").read_bytes() == b"two"
    assert os.listdir(outside) == ["precious"]
    assert stat.S_IMODE(outside.stat().st_mode) != 0o710


def test_a_link_takes_the_place_of_anything(tree: Path) -> None:
    for name in (b"z", b"src", b"z"):
        put_back(str(tree), name, link(b"../\xff"), None)
        assert os.readlink(os.fsencode(tree) + b"/" + name) == b"../\xff"
    assert sorted(os.listdir(tree)) == ["src", "z"]


def test_nothing_is_put_back_by_removing_what_is_there(tree: Path, outside: Path) -> None:
    (tree / "src/inner").symlink_to(outside)
    for name in (b"src", b"z", b"never/there", b"never"):
        put_back(str(tree), name, None, None)
    assert os.listdir(tree) == []
    assert (outside / "precious").read_bytes() == b"precious"
    put_back(str(tree), b"a", file(b""), b"")
    put_back(str(tree), b"a/b", None, None)  # there is nothing in a file
    assert os.listdir(tree) == ["a"]


@pytest.mark.thorough
def test_what_is_removed_may_be_deeper_than_any_path(tree: Path) -> None:
    current = os.open(tree, os.O_RDONLY)
    # Longer than a path, deeper than Python calls itself, more than can be open.
    for _ in range(1100):
        os.mkdir("deep", dir_fd=current)
        os.mkdir("e", dir_fd=current)
        below = os.open("deep", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = below
    os.close(current)
    opened = len(os.listdir("/proc/self/fd"))
    put_back(str(tree), b"deep", file(b"flat"), b"flat")
    assert (tree / "deep").read_bytes() == b"flat"
    assert len(os.listdir("/proc/self/fd")) == opened


@pytest.mark.parametrize(
    "path",
    [b"", b"/etc/x", b"..", b"../x", b"src/../../x", b"src//x", b"src/", b"./x", b"a\0b"],
)
def test_paths_that_could_lead_out_are_refused(tree: Path, path: bytes) -> None:
    for entry in (None, file(b"x"), DIRECTORY):
        with pytest.raises(FileProblem, match="no path within the tree"):
            put_back(str(tree), path, entry, b"x")


@pytest.mark.parametrize("way", [b"to-folder/x", b"to-folder/deep/x", b"dangling/x", b"z/x"])
def test_a_component_that_is_a_link_or_a_file_is_refused(
    tree: Path, outside: Path, way: bytes
) -> None:
    (tree / "to-folder").symlink_to(outside)
    (tree / "dangling").symlink_to(outside / "none")
    for entry in (file(b"x"), DIRECTORY, link(b"x"), None):
        if entry is None and way == b"z/x":
            continue
        with pytest.raises(FileProblem, match="on the way to it"):
            put_back(str(tree), way, entry, b"x")
    assert os.listdir(outside) == ["precious"]


def test_a_content_that_it_never_had_is_refused(tree: Path) -> None:
    with pytest.raises(FileProblem, match="not the content it had"):
        put_back(str(tree), b"z", file(b"x"), b"y")
    assert (tree / "z").read_bytes() == b"three"


def test_without_a_content_only_the_mode_comes_back(tree: Path) -> None:
    put_back(str(tree), b"z", file(b"three", 0o600), None)
    assert stat.S_IMODE((tree / "z").stat().st_mode) == 0o600
    for name in (b"src/b", b"none", b"src"):
        with pytest.raises(FileProblem, match="not kept"):
            put_back(str(tree), name, file(b"x"), None)


@pytest.mark.parametrize("kind", [EntryType.SUMMARY, EntryType.OTHER, EntryType.UNREADABLE])
def test_what_was_never_read_is_not_put_back(tree: Path, kind: EntryType) -> None:
    with pytest.raises(FileProblem, match="no file, link or directory"):
        put_back(str(tree), b"z", Entry(kind, 0o644, 0, b""), None)


REMOVE = """\
import sys
from planbound.workspace.contents import put_back
from tests.examples import examples
put_back(sys.argv[1], b"src", None, None)
"""


def test_directories_that_may_not_be_read_are_removed_all_the_same(tree: Path) -> None:
    (tree / "src/deep/inner/most").mkdir(parents=True)
    (tree / "src/deep/inner").chmod(0)
    (tree / "src/deep").chmod(0)
    (tree / "src").chmod(0o500)
    subprocess.run(
        [sys.executable, "-c", REMOVE, tree],
        check=True,
        preexec_fn=_drop_override if os.geteuid() == 0 else None,
    )
    assert os.listdir(tree) == ["z"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("a b a/b a/c a/b/c b/a d".split()),
            st.sampled_from(["file", "folder", "link", "remove"]),
            st.integers(0, 3),
        ),
        max_size=12,
    )
)
@examples(60)
def test_whatever_was_done_to_a_tree_all_of_it_is_put_back(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, int]]
) -> None:
    tree = tmp_path_factory.mktemp("tree")
    half = len(actions) // 2
    for action in actions[:half]:
        act(tree, *action)
    before = scan(str(tree))
    contents = dict(read_contents(str(tree), before, None, limit=LIMIT))
    for action in actions[half:]:
        act(tree, *action)
    found = changes(before, scan(str(tree)))
    # First away what is too much, from the inside out; then the rest, from the outside in.
    for each in sorted(found, key=lambda each: (each.before is not None, each.path)):
        if each.before is None:
            put_back(str(tree), os.fsencode(each.path), None, None)
    for each in found:
        if each.before is not None:
            content = contents.get(each.before.content)
            put_back(str(tree), os.fsencode(each.path), each.before, content)
    assert scan(str(tree)) == before
    shutil.rmtree(tree)


def act(tree: Path, name: str, what: str, number: int) -> None:
    path = tree / name
    if not path.parent.is_dir() or path.parent.is_symlink():
        return
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    if what == "file":
        path.write_text(str(number))
        path.chmod(0o600 + number)
    elif what == "folder":
        path.mkdir(mode=0o700 + number)
    elif what == "link":
        path.symlink_to(("a", "..", "/", "x")[number])
