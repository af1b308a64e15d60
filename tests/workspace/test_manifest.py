"""Whole trees: nothing in them is hidden, and nothing in them stops the reading."""

from __future__ import annotations

import mmap
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.errors import FileProblem
from planbound.script.runners import RUNNERS
from planbound.workspace import scan as reading
from planbound.workspace.manifest import (
    CACHES,
    ChangeKind,
    Entry,
    EntryType,
    Manifest,
    ScanRules,
    changes,
    manifest_of,
)
from planbound.workspace.manifest_file import decode, encode
from planbound.workspace.scan import file_digest, scan
from tests.needs import need
from tests.program import _drop_override

TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# a cache\n"
TERABYTE = 10**12


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "src/empty").mkdir(parents=True)
    (root / "src/round.py").write_text("def total(): ...\n")
    (root / "README.md").write_text("# rounding\n")
    return root


def manifest(tree: Path, rules: ScanRules | None = None) -> Manifest:
    found = scan(str(tree), rules)
    assert found.truncated is None
    return found


def changed(tree: Path, change: Callable[[], object]) -> list[tuple[str, str]]:
    before = manifest(tree)
    change()
    after = manifest(tree)
    seen = [each for each in changes(before, after) if each.path != ".git"]
    assert (before.digest != after.digest) == bool(seen)
    return [(each.path, each.kind.value) for each in changes(before, after)]


def git(tree: Path, *arguments: str) -> str:
    need("git", "a repository is made with it")
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        ["git", *name, *arguments], cwd=tree, check=True, capture_output=True, text=True
    )
    return done.stdout


# -- what is in a manifest -------------------------------------------------------------------------


def test_every_entry_has_its_type_and_mode_and_empty_directories_count(tree: Path) -> None:
    (tree / "src/round.py").chmod(0o640)
    (tree / "src/empty").chmod(0o751)
    (tree / "link").symlink_to("src/../nowhere")
    found = manifest(tree).entries
    assert list(found) == [b"README.md", b"link", b"src", b"src/empty", b"src/round.py"]
    assert found[b"src/round.py"][:3] == (EntryType.FILE, 0o640, 17)
    assert found[b"src/empty"] == Entry(EntryType.DIRECTORY, 0o751, 0, b"")
    assert found[b"link"] == Entry(EntryType.LINK, 0o777, 0, b"src/../nowhere")


@pytest.mark.parametrize("size", [0, 1, 2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20 + 5])
def test_a_file_has_the_hash_that_sha256sum_gives_it(tmp_path: Path, size: int) -> None:
    need("sha256sum", "ours is compared with it")
    (tmp_path / "data").write_bytes(os.urandom(size))
    told = subprocess.run(["sha256sum", "data"], cwd=tmp_path, check=True, capture_output=True)
    entry = manifest(tmp_path).entries[b"data"]
    assert entry.content.hex() == told.stdout.decode().split()[0]
    assert entry.size == size


def test_a_file_that_says_it_is_empty_is_still_read() -> None:
    def nothing(count: int) -> None:
        pass

    with open("/proc/self/stat", "rb") as file:
        found = os.fstat(file.fileno())
        size, _ = file_digest(file.fileno(), found, nothing)
    assert found.st_size == 0
    assert size > 0


def test_the_digest_does_not_depend_on_the_order_of_the_directory(tmp_path: Path) -> None:
    names = [f"{each:03}" for each in range(200)]
    for folder, order in (("a", names), ("b", names[::-1])):
        (tmp_path / folder).mkdir()
        for name in order:
            (tmp_path / folder / name).write_text(name)
    assert manifest(tmp_path / "a").digest == manifest(tmp_path / "b").digest


def test_names_that_are_no_text_and_names_with_newlines_are_kept_as_they_are(tree: Path) -> None:
    for name in (b"caf\xe9\xff", b"two\nlines", b"\x1b[31mred", "ünï".encode()):
        Path(os.fsdecode(os.fsencode(tree) + b"/" + name)).write_bytes(name)
        assert manifest(tree).entries[name].size == len(name)


def test_a_root_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="No such file"):
        scan(str(tmp_path / "none"))


# -- changes ---------------------------------------------------------------------------------------


def test_what_is_added_removed_and_changed_is_told(tree: Path) -> None:
    def change() -> None:
        (tree / "new").mkdir()
        (tree / "README.md").unlink()
        (tree / "src/round.py").write_text("def total(): pass\n")

    assert changed(tree, change) == [
        ("README.md", ChangeKind.REMOVED.value),
        ("new", ChangeKind.ADDED.value),
        ("src/round.py", ChangeKind.CHANGED.value),
    ]


def test_a_mode_alone_is_a_change(tree: Path) -> None:
    path = tree / "src/round.py"
    assert changed(tree, lambda: path.chmod(0o777)) == [("src/round.py", "changed")]
    assert changed(tree, lambda: path.chmod(0o4777)) == [("src/round.py", "changed")]
    assert changed(tree, lambda: (tree / "src").chmod(0o700)) == [("src", "changed")]


def test_content_that_is_written_through_a_mapping_under_an_unchanged_time_is_seen(
    tree: Path,
) -> None:
    path = tree / "src/round.py"
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0] = memory[0]  # the page is ours from now on
        before = path.stat()

        def write() -> None:
            memory[0:3] = b"DEF"
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

        assert changed(tree, write) == [("src/round.py", "changed")]
        after = path.stat()
        assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)


def test_a_directory_that_is_swapped_for_a_link_to_an_equal_one_is_seen(
    tree: Path, tmp_path: Path
) -> None:
    def swap() -> None:
        (tree / "src").rename(tmp_path / "elsewhere")
        (tree / "src").symlink_to(tmp_path / "elsewhere")

    assert changed(tree, swap) == [
        ("src", "changed"),
        ("src/empty", "removed"),
        ("src/round.py", "removed"),
    ]


@pytest.mark.parametrize("directory", [False, True])
def test_what_becomes_a_link_while_it_is_read_is_a_link(
    tree: Path, monkeypatch: pytest.MonkeyPatch, *, directory: bool
) -> None:
    """The listing says what it was; the link that is there by then leads out of the tree."""
    victim = tree / ("src" if directory else "README.md")
    real_open = os.open

    def swapping(path: str | bytes, flags: int, *rest: int, dir_fd: int | None = None) -> int:
        if os.fsencode(path) == os.fsencode(victim.name) and not victim.is_symlink():
            victim.rename(tree.parent / "moved")
            victim.symlink_to("/etc" if directory else "/etc/passwd")
        return real_open(path, flags, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    found = manifest(tree).entries
    monkeypatch.undo()
    assert found[os.fsencode(victim.name)].type is EntryType.LINK
    assert b"src/passwd" not in found


def test_what_becomes_a_fifo_while_it_is_read_is_one(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tree / "README.md"
    real_open = os.open

    def swapping(path: str | bytes, flags: int, *rest: int, dir_fd: int | None = None) -> int:
        if path == "README.md":
            victim.unlink()
            os.mkfifo(victim, 0o640)
        return real_open(path, flags, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    found = manifest(tree).entries
    monkeypatch.undo()
    assert found[b"README.md"] == Entry(
        EntryType.OTHER, stat.S_IMODE(victim.stat().st_mode), 0, b"FIFO"
    )


# -- git hides nothing -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hide",
    [
        ("update-index", "--assume-unchanged", "src/round.py"),
        ("update-index", "--skip-worktree", "src/round.py"),
        ("config", "core.fileMode", "false"),
    ],
)
def test_what_git_is_told_to_overlook_is_seen(tree: Path, hide: tuple[str, ...]) -> None:
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "start")
    git(tree, *hide)
    path = tree / "src/round.py"

    def write() -> None:
        path.chmod(0o755)
        if hide[0] != "config":
            path.write_text("assert True\n")

    assert changed(tree, write) == [("src/round.py", "changed")]
    assert git(tree, "status", "--porcelain") == ""


def test_what_git_ignores_and_what_a_nested_repository_holds_is_seen(tree: Path) -> None:
    git(tree, "init", "-q")
    (tree / "nested").mkdir()
    git(tree / "nested", "init", "-q")
    (tree / ".git/info/exclude").write_text("*.secret\n")

    def write() -> None:
        (tree / "a.secret").write_text("hidden")
        (tree / "nested/inner.py").write_text("hidden")

    assert changed(tree, write) == [("a.secret", "added"), ("nested/inner.py", "added")]


def test_what_makes_git_run_programs_is_read_and_the_rest_of_git_is_one_entry(tree: Path) -> None:
    git(tree, "init", "-q")
    modules = tree / ".git/modules/lib/deep"
    (modules / "hooks").mkdir(parents=True)
    (modules / "refs/heads").mkdir(parents=True)
    for name in ("config", "hooks/post-checkout", "HEAD", "refs/heads/config"):
        (modules / name).write_text("x")
    found = manifest(tree).entries
    inside = {path for path in found if path.startswith(b".git/")}
    assert found[b".git"].type is EntryType.SUMMARY
    assert {b".git/HEAD", b".git/config", b".git/info/exclude"} <= inside
    assert {each for each in inside if each.startswith(b".git/modules")} == {
        b".git/modules/lib/deep/config",
        b".git/modules/lib/deep/hooks",
        b".git/modules/lib/deep/hooks/post-checkout",
    }
    hook = tree / ".git/hooks/pre-commit"
    assert changed(tree, lambda: hook.write_text("#!/bin/sh\n")) == [
        (".git/hooks/pre-commit", "added")
    ]
    git(tree, "add", ".")
    assert changed(tree, lambda: git(tree, "commit", "-qm", "x")) == [(".git", "changed")]


def test_a_git_file_is_a_file(tree: Path) -> None:
    (tree / ".git").write_text("gitdir: /elsewhere\n")
    assert manifest(tree).entries[b".git"].type is EntryType.FILE


# -- summaries and caches --------------------------------------------------------------------------


def modules_of(tree: Path) -> Path:
    path = tree / "web/node_modules/left-pad/index.js"
    path.parent.mkdir(parents=True)
    path.write_text("module.exports = 1\n")
    return path


def test_a_summary_is_one_entry_and_stays_while_nothing_is_written(tree: Path) -> None:
    path = modules_of(tree)
    found = manifest(tree).entries
    assert [each for each in found if each.startswith(b"web/")] == [b"web/node_modules"]
    assert found[b"web/node_modules"].size == 2

    def use() -> None:
        path.read_text()
        for cache in ("node_modules/.cache", "node_modules/left-pad/.vite"):
            (tree / "web" / cache).mkdir()
            (tree / "web" / cache / "x").write_text("x")

    assert changed(tree, use) == []


@pytest.mark.parametrize("way", ["written", "replaced", "removed", "mode", "added", "linked"])
def test_a_summary_changes_with_every_file_in_it(tree: Path, way: str) -> None:
    path = modules_of(tree)
    old = path.stat()

    def change() -> None:
        if way == "written":
            path.write_text("module.exports = 2\n")
        elif way == "replaced":
            other = tree.parent / "other"
            other.write_text("module.exports = 2\n")
            os.utime(other, ns=(old.st_atime_ns, old.st_mtime_ns))
            other.rename(path)
        elif way == "removed":
            path.unlink()
        elif way == "mode":
            path.chmod(0o755)
        elif way == "added":
            (path.parent / "deep").mkdir()
        else:
            path.unlink()
            path.symlink_to("/etc/passwd")
        if way == "written":
            os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))

    assert changed(tree, change) == [("web/node_modules", "changed")]


def test_a_venv_is_summarised_only_if_it_is_one(tree: Path) -> None:
    for name in ("venv", ".venv"):
        (tree / name).mkdir()
        (tree / name / "x.py").write_text("x")
    assert b".venv/x.py" in manifest(tree).entries
    for name in ("venv", ".venv"):
        (tree / name / "pyvenv.cfg").write_text("home = /usr\n")
        (tree / name / "CACHEDIR.TAG").write_text(TAG)  # as uv does
    found = manifest(tree)
    assert found.entries[b"venv"].type is EntryType.SUMMARY
    assert b".venv/x.py" not in found.entries
    assert not found.tagged


def test_configured_paths_are_summarised_or_left_out(tree: Path) -> None:
    for name in ("data/big", "build/out", "src/build"):
        (tree / name).mkdir(parents=True)
        (tree / name / "x").write_text("x")
    (tree / ".coverage").write_text("x")
    rules = ScanRules(summarised_paths=(b"data/big/",), cache_paths=(b"build", b".coverage"))
    found = manifest(tree, rules).entries
    assert found[b"data/big"].type is EntryType.SUMMARY
    assert not {path for path in found if path.startswith((b"build", b".cov", b"data/big/"))}
    assert b"src/build/x" in found


def test_caches_are_no_part_of_a_manifest_but_files_of_such_a_name_are(tree: Path) -> None:
    (tree / "src/__pycache__").mkdir()
    (tree / "src/__pycache__/x.pyc").write_text("x")
    (tree / ".mypy_cache").write_text("a file")
    found = manifest(tree).entries
    assert not {path for path in found if b"__pycache__" in path}
    assert found[b".mypy_cache"].type is EntryType.FILE


@pytest.mark.requirement("judging.caches")
def test_what_is_called_as_a_cache_is_left_out_of_what_a_contract_sees(tree: Path) -> None:
    (tree / ".git/lfs").mkdir(parents=True)
    (tree / ".git/lfs/x").write_text("x")
    (tree / ".git/annex/objects").mkdir(parents=True)
    (tree / ".git/annex/index").write_text("x")
    (tree / "__pycache__").symlink_to(".git/lfs")
    (tree / ".pytest_cache").write_text("a file")
    (tree / "deep/.venv/lib/__pycache__").mkdir(parents=True)
    (tree / "deep/.venv/pyvenv.cfg").write_text("x")
    (tree / "deep/.venv/more").mkdir()
    (tree / "deep/.venv/more/__pycache__").symlink_to("../lib")
    found = manifest(tree)
    assert {
        b".git/lfs", b".git/annex/index", b"__pycache__", b".pytest_cache",
        b"deep/.venv/lib/__pycache__", b"deep/.venv/more/__pycache__",
    } == found.left_out  # fmt: skip
    # The links are seen all the same, and so is what an annex keeps.
    assert found.entries[b"__pycache__"].type is EntryType.LINK
    assert found.entries[b".git/annex/objects"].type is EntryType.SUMMARY
    (tree / ".git/annex/objects/x").write_text("x")
    assert manifest(tree).digest != found.digest


def test_a_tagged_directory_is_left_out_and_told_unless_it_was_an_ordinary_one(tree: Path) -> None:
    before = manifest(tree)
    ordinary = frozenset(
        path for path, entry in before.entries.items() if entry.type is EntryType.DIRECTORY
    )
    (tree / "target").mkdir()
    for name in ("target", "src", "."):
        (tree / name / "CACHEDIR.TAG").write_text(TAG)
    found = manifest(tree, ScanRules(not_caches=ordinary))
    assert found.tagged == {b"target"}
    assert b"target" not in found.entries
    assert {b"src/CACHEDIR.TAG", b"src/round.py", b"CACHEDIR.TAG"} <= set(found.entries)
    assert manifest(tree).tagged == {b"target", b"src"}
    assert decode(encode(found)) == found._replace(left_out=frozenset())


def test_a_tag_that_is_a_fifo_a_link_or_another_text_is_none(tree: Path) -> None:
    (tree / "real").write_text(TAG)
    for name in ("fifo", "link", "text"):
        (tree / name).mkdir()
    os.mkfifo(tree / "fifo/CACHEDIR.TAG")
    (tree / "link/CACHEDIR.TAG").symlink_to(tree / "real")
    (tree / "text/CACHEDIR.TAG").write_text("Signature: 1")
    assert manifest(tree).tagged == frozenset()


# -- what could stop a reader ----------------------------------------------------------------------


def test_fifos_sockets_and_devices_are_never_opened(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tree / "fifo", 0o600)
    monkeypatch.chdir(tree)  # the path of a socket may have 107 characters
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        found = manifest(tree).entries
    assert found[b"fifo"] == Entry(EntryType.OTHER, 0o600, 0, b"FIFO")
    assert found[b"socket"].content == b"socket"
    assert changed(tree, lambda: os.replace("fifo", "README.md")) == [
        ("README.md", "changed"),
        ("fifo", "removed"),
    ]


def test_loops_of_links_are_links(tree: Path) -> None:
    (tree / "a").symlink_to("b")
    (tree / "b").symlink_to("a")
    (tree / "src/up").symlink_to("..")
    found = manifest(tree).entries
    assert [found[each].content for each in (b"a", b"b", b"src/up")] == [b"b", b"a", b".."]


def test_a_sparse_terabyte_costs_little_and_each_byte_of_it_counts(tree: Path) -> None:
    path = tree / "giant"
    path.touch()
    os.truncate(path, TERABYTE)
    start = time.monotonic()
    assert manifest(tree).entries[b"giant"].size == TERABYTE

    def write(at: int, data: bytes) -> Callable[[], None]:
        def change() -> None:
            with open(path, "r+b") as file:
                file.seek(at)
                file.write(data)

        return change

    assert changed(tree, write(TERABYTE // 2, b"x")) == [("giant", "changed")]
    assert changed(tree, write(TERABYTE // 2 + 1, b"x")) == [("giant", "changed")]

    def move() -> None:
        os.truncate(path, 0)
        os.truncate(path, TERABYTE)
        write(TERABYTE // 2 + 2**20, b"xx")()

    assert changed(tree, move) == [("giant", "changed")]
    # Zeros that are written and zeros of a hole are the same content.
    assert changed(tree, write(TERABYTE // 3, bytes(100_000))) == []
    assert time.monotonic() - start < 20


@pytest.mark.thorough
def test_directories_may_be_deeper_than_any_path(tmp_path: Path) -> None:
    """With a file and a second directory on each level: the way back is found, too."""
    levels = 1100  # longer than a path, deeper than Python calls itself, more than can be open
    top = os.open(tmp_path, os.O_RDONLY)
    current = top
    for level in range(levels):
        os.mkdir("deep", dir_fd=current)
        os.mkdir("e", dir_fd=current)
        os.close(os.open(f"f{level}", os.O_CREAT | os.O_WRONLY, dir_fd=current))
        below = os.open("deep", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = below
    os.close(current)
    opened = len(os.listdir("/proc/self/fd"))
    found = manifest(tmp_path)
    assert len(found.entries) == 3 * levels
    assert b"deep/" * (levels - 1) + b"e" in found.entries
    assert decode(encode(found)) == found._replace(left_out=frozenset())
    assert len(os.listdir("/proc/self/fd")) == opened
    deep = scan(str(tmp_path), ScanRules(max_depth=100))
    assert deep.truncated == "directories are more than 100 deep"
    assert len(os.listdir("/proc/self/fd")) == opened
    subprocess.run(["rm", "-rf", tmp_path / "deep"], check=True)


def comb(root: Path, levels: int) -> None:
    for level in range(levels):
        for name in "de":
            (root / "/".join("d" * level) / name).mkdir(parents=True)


@pytest.mark.parametrize("most", [2, 3, 5])
def test_however_few_directories_may_be_open_all_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    comb(tmp_path, 20)
    before = manifest(tmp_path)
    assert len(before.entries) == 40
    monkeypatch.setattr(reading, "MAX_OPEN", most)
    assert manifest(tmp_path) == before


def test_a_directory_that_is_not_found_again_ends_the_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comb(tmp_path / "tree", 20)
    monkeypatch.setattr(reading, "MAX_OPEN", 2)
    opened = len(os.listdir("/proc/self/fd"))
    real_fstat = os.fstat
    seen = []

    def moving(descriptor: int) -> os.stat_result:
        seen.append(descriptor)
        if len(seen) == 15:
            os.rename(tmp_path / "tree/d", tmp_path / "away")
        return real_fstat(descriptor)

    monkeypatch.setattr(os, "fstat", moving)
    found = scan(str(tmp_path / "tree"))
    monkeypatch.undo()
    assert found.truncated == "the tree changed while it was read"
    assert len(os.listdir("/proc/self/fd")) == opened


SCAN = """\
import sys
from planbound.workspace.manifest_file import encode
from planbound.workspace.scan import scan
sys.stdout.buffer.write(encode(scan(sys.argv[1])))
"""


def test_what_may_not_be_read_is_told(tree: Path) -> None:
    (tree / "README.md").chmod(0o200)
    (tree / "src").chmod(0o300)
    done = subprocess.run(
        [sys.executable, "-c", SCAN, tree],
        check=True,
        capture_output=True,
        preexec_fn=_drop_override if os.geteuid() == 0 else None,
    )
    (tree / "src").chmod(0o700)
    assert decode(done.stdout).entries == {
        b"README.md": Entry(EntryType.UNREADABLE, 0o200, 0, b"EACCES"),
        b"src": Entry(EntryType.UNREADABLE, 0o300, 0, b"EACCES"),
    }


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (ScanRules(max_entries=3), "there are more than 3 entries"),
        (ScanRules(max_bytes=20), "all files together have more than 20 bytes"),
        (ScanRules(max_path_bytes=20), "all paths together have more than 20 bytes"),
        (ScanRules(max_depth=1), "directories are more than 1 deep"),
    ],
)
def test_limits_end_the_reading_and_half_a_tree_is_no_tree(
    tree: Path, rules: ScanRules, reason: str
) -> None:
    found = scan(str(tree), rules)
    assert found.truncated == reason
    assert found.digest != manifest_of(found.entries).digest
    assert decode(encode(found)) == found._replace(left_out=frozenset())


def test_a_deadline_ends_even_the_reading_of_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "big").write_bytes(bytes(5 * 2**20))
    ticks = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    found = scan(str(tmp_path), deadline=3)  # one for the name, one for each megabyte
    assert found.truncated == "the time was up"
    assert next(ticks) == 5
    assert not found.entries


def test_running_out_of_descriptors_is_told_and_no_entry(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def failing(path: str, flags: int, *rest: int, dir_fd: int | None = None) -> int:
        if path == "round.py":
            raise OSError(24, "Too many open files")
        return real_open(path, flags, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", failing)
    assert scan(str(tree)).truncated == "Too many open files"


# -- as bytes --------------------------------------------------------------------------------------


def entries() -> st.SearchStrategy[dict[bytes, Entry]]:
    entry = st.builds(
        Entry,
        st.sampled_from(EntryType),
        st.integers(0, 0o7777),
        st.integers(0, 2**63),
        st.binary(max_size=40),
    )
    return st.dictionaries(st.binary(min_size=1, max_size=30), entry, max_size=8)


@given(entries(), st.none() | st.text(max_size=9), st.frozensets(st.binary(max_size=9), max_size=3))
def test_a_manifest_survives_being_written(
    found: dict[bytes, Entry], truncated: str | None, tagged: frozenset[bytes]
) -> None:
    made = manifest_of(found, truncated=truncated, tagged=tagged)
    assert list(made.entries) == sorted(found)
    assert decode(encode(made)) == made
    assert encode(decode(encode(made))) == encode(made)


def test_every_flipped_bit_and_every_cut_is_refused(tree: Path) -> None:
    data = encode(manifest(tree))
    for at in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[at] ^= 1 << bit
            with pytest.raises(ValueError, match="manifest"):
                decode(bytes(damaged))
        with pytest.raises(ValueError, match="manifest"):
            decode(data[:at])
    with pytest.raises(ValueError, match="manifest"):
        decode(data + b"\0")


def test_entries_that_do_not_give_the_digest_are_refused(tree: Path) -> None:
    found = manifest(tree)
    forged = found._replace(digest="0" * 64)
    with pytest.raises(ValueError, match="do not give its digest"):
        decode(encode(forged))


def test_modes_are_permission_bits_only(tree: Path) -> None:
    assert all(entry.mode == stat.S_IMODE(entry.mode) for entry in manifest(tree).entries.values())


@pytest.mark.parametrize(
    ("path", "is_change"),
    [
        (".git/info/refs", False),
        (".git/info/refs_HqBkOw", False),
        (".git/info/rev-cache", False),
        (".git/packed-refs.new", False),
        (".git/index.stash.24919", False),
        (".git/modules/lib/info/refs", False),
        ("vendor/lib/.git/info/refs", False),
        (".git/info/attributes", True),
        (".git/info/exclude", True),
        (".git/hooks/refs", True),
        (".git/index.stash.x", True),
        (".git/info/refs/conftest.py", True),
        ("info/refs", True),
        ("x.git/info/refs", True),
    ],
)
def test_what_git_rewrites_by_itself_is_no_change(path: str, *, is_change: bool) -> None:
    entry = Entry(EntryType.FILE, 0o644, 1, b"1")
    before, after = manifest_of({}), manifest_of({path.encode(): entry})
    assert bool(changes(before, after)) == is_change
    assert bool(changes(after, before)) == is_change


def test_what_test_runners_leave_behind_is_a_cache() -> None:
    # Written out there, because a look at a tree loads no runners.
    of_runners = {name.encode() for runner in RUNNERS for name in runner.caches}
    assert of_runners
    assert of_runners <= CACHES
