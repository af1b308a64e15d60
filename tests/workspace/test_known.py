"""What is known of a tree is never another thing than what is in it, whatever hides a change."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.workspace import known as knowing
from planbound.workspace import stamps
from planbound.workspace.known import KnownFiles
from planbound.workspace.manifest import Manifest, ScanRules
from planbound.workspace.scan import scan
from planbound.workspace.stamps import Clocks, has_writer, moment, notes_every_change

pytestmark = pytest.mark.requirement("workspace.manifest")

COUNT = 300
LATER = 10 * 10**9
"""By so many nanoseconds the clock of these tests is ahead, so that nothing is too young."""
PAGE = mmap.PAGESIZE


class Clock:
    """A clock that can be moved."""

    def __init__(self, ahead: int = LATER) -> None:
        self.ahead = ahead
        self.set_back = 0

    def __call__(self) -> Clocks:
        now = moment()
        return Clocks(now.wall + self.ahead - self.set_back, now.since_boot + self.ahead)


class Bench:
    """A tree that is read by what is known, and by reading everything."""

    def __init__(self, root: Path, file: Path | None = None) -> None:
        self.root = root
        self.file = file
        self.clock = Clock()
        self.known = self.another()
        self.opened: list[str] = []

    def another(self) -> KnownFiles:
        """Return what another process knows."""
        return KnownFiles(None if self.file is None else str(self.file), self.clock)

    def scan(self, known: KnownFiles | None = None, rules: ScanRules | None = None) -> Manifest:
        """Read the tree in both ways; they never differ."""
        with _opened() as self.opened:
            found = scan(str(self.root), rules, known=known or self.known)
        fresh = scan(str(self.root), rules)
        assert found._replace(looks=None) == fresh
        assert list(found.entries) == list(fresh.entries)
        _tick()
        return found


def _tick() -> None:
    """Wait until the clock by which files are stamped goes on, which takes milliseconds."""
    coarse = 5
    before, end = time.clock_gettime_ns(coarse), time.monotonic() + 10
    while time.clock_gettime_ns(coarse) == before:
        assert time.monotonic() < end


@contextmanager
def _opened() -> Iterator[list[str]]:
    """Yield the names of the files that are opened meanwhile."""
    names: list[str] = []
    real = os.open

    def noting(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_NOCTTY:
            names.append(path)
        return real(path, flags, mode, dir_fd=dir_fd)

    patch = pytest.MonkeyPatch()
    patch.setattr(os, "open", noting)
    try:
        yield names
    finally:
        patch.undo()


def notes_changes(folder: Path) -> bool:
    opened = os.open(folder, os.O_RDONLY)
    try:
        return notes_every_change(opened)
    finally:
        os.close(opened)


def make_tree(root: Path) -> None:
    for number in range(COUNT):
        folder = root / f"part{number // 50}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:03}.py").write_bytes(b"%d\n" % number * 3)
    (root / "judge.py").write_bytes(b"assert total() == 5\n" + bytes(PAGE))
    (root / "other.py").write_bytes(b"assert total() == 6\n" + bytes(PAGE))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    make_tree(tmp_path / "tree")
    (tmp_path / "state").mkdir()
    _tick()
    bench = Bench(tmp_path / "tree", tmp_path / "state/known/tree")
    bench.scan()
    bench.scan()
    return bench


@pytest.fixture
def sure(tmp_path: Path) -> None:
    if not notes_changes(tmp_path):
        pytest.skip("this file system does not note every change: everything is read")


# -- what is not opened ----------------------------------------------------------------------------


@pytest.mark.usefixtures("sure")
def test_a_file_that_is_known_is_not_opened_again(bench: Bench) -> None:
    before = bench.scan()
    assert bench.opened == []
    again = bench.scan()
    assert again.entries is before.entries


@pytest.mark.usefixtures("sure")
def test_another_process_knows_what_was_read_before(bench: Bench) -> None:
    bench.scan(bench.another())
    assert bench.opened == []


@pytest.mark.usefixtures("sure")
def test_only_what_changed_is_opened(bench: Bench) -> None:
    (bench.root / "part2/100.py").write_bytes(b"changed\n")
    (bench.root / "part2/new.py").write_bytes(b"new\n")
    (bench.root / "part3/150.py").unlink()
    bench.scan()
    assert sorted(bench.opened) == ["100.py", "new.py"]


def test_without_what_is_known_everything_is_opened(bench: Bench) -> None:
    with _opened() as names:
        scan(str(bench.root))
    assert len(names) == COUNT + 2


def test_a_small_tree_is_known_to_who_reads_it_often_and_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "tree/a").write_bytes(b"a")
    _tick()
    bench = Bench(tmp_path / "tree", tmp_path / "state/known/tree")
    for _ in range(3):
        bench.scan()
        assert bench.opened == ["a"]
    for _ in range(2):
        bench.scan()
        assert bench.opened == []
    assert os.listdir(tmp_path / "state") == []


def test_who_only_looks_makes_no_state_home(tmp_path: Path) -> None:
    make_tree(tmp_path / "tree")
    _tick()
    bench = Bench(tmp_path / "tree", tmp_path / "state/known/tree")
    bench.scan()
    bench.scan()
    assert not (tmp_path / "state").exists()


# -- changes that hide -----------------------------------------------------------------------------


def restored(path: Path, change: Callable[[], object]) -> None:
    """Change a file, and put its times back as far as anybody can."""
    before = path.stat()
    change()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def rewritten(root: Path) -> None:
    judge = root / "judge.py"
    content = judge.read_bytes().replace(b"5", b"6")

    def change() -> None:
        with judge.open("r+b") as file:
            file.write(content)

    restored(judge, change)


def rewritten_and_back(root: Path) -> None:
    rewritten(root)
    with (root / "judge.py").open("r+b") as file:
        file.write(b"assert total() == 5\n")


def swapped(root: Path) -> None:
    before = (root / "judge.py").stat()
    os.utime(root / "other.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(root / "other.py", root / "judge.py")


def exchanged(root: Path) -> None:
    for old, new in (("judge.py", "x"), ("other.py", "judge.py"), ("x", "other.py")):
        os.rename(root / old, root / new)


def exchanged_folders(root: Path) -> None:
    for old, new in (("part1", "x"), ("part2", "part1"), ("x", "part2")):
        os.rename(root / old, root / new)


def linked_outside(root: Path) -> None:
    """Write through another name of the file, which lies outside of the tree."""
    judge, name = root / "judge.py", root.parent / "name"
    os.link(judge, name)
    restored(judge, lambda: name.write_bytes(judge.read_bytes().replace(b"5", b"7")))
    name.unlink()


def made_anew(root: Path) -> None:
    """Remove and make a file: most often the inode is the same."""
    judge = root / "judge.py"
    before, size = judge.stat(), judge.stat().st_size
    judge.unlink()
    judge.write_bytes(b"x" * size)
    os.utime(judge, ns=(before.st_atime_ns, before.st_mtime_ns))


def became_a_link(root: Path) -> None:
    (root / "judge.py").unlink()
    (root / "judge.py").symlink_to("other.py")


def became_a_folder(root: Path) -> None:
    (root / "judge.py").unlink()
    (root / "judge.py").mkdir()


def shrunk_and_grown(root: Path) -> None:
    judge = root / "judge.py"
    size = judge.stat().st_size

    def change() -> None:
        os.truncate(judge, 0)
        os.truncate(judge, size)

    restored(judge, change)


def made_runnable(root: Path) -> None:
    (root / "judge.py").chmod(0o755)


def copied_in_the_kernel(root: Path) -> None:
    with (root / "other.py").open("rb") as source, (root / "judge.py").open("r+b") as target:
        os.copy_file_range(source.fileno(), target.fileno(), PAGE)


def written_past_the_cache(root: Path) -> None:
    """Write directly to the disk, where the file system can."""
    try:
        opened = os.open(root / "judge.py", os.O_WRONLY | os.O_DIRECT)
    except OSError:
        pytest.skip("no direct writes here")
    with mmap.mmap(-1, PAGE) as page, os.fdopen(opened, "wb", buffering=0) as file:
        page.write(b"x" * PAGE)
        file.write(page)


def punched(root: Path) -> None:
    with (root / "judge.py").open("r+b") as file:
        libc = ctypes.CDLL(None, use_errno=True)
        keep_size_and_punch = 3
        size = ctypes.c_longlong(PAGE)
        libc.fallocate(file.fileno(), keep_size_and_punch, ctypes.c_longlong(0), size)


def mapped(root: Path, *, flush: bool) -> None:
    """Write through a mapping, in a process that ends."""
    before = (root / "judge.py").stat()
    subprocess.run([sys.executable, "-c", MAPPED, root / "judge.py", str(int(flush))], check=True)
    os.utime(root / "judge.py", ns=(before.st_atime_ns, before.st_mtime_ns))


MAPPED = """\
import mmap, os, sys
with open(sys.argv[1], "r+b") as file, mmap.mmap(file.fileno(), 0) as pages:
    assert pages[18] == ord("5")
    pages[18] = ord("8")
    if sys.argv[2] == "1":
        pages.flush()
    file.close()
    os._exit(0)
"""


def mapped_without_flush(root: Path) -> None:
    mapped(root, flush=False)


def mapped_with_flush(root: Path) -> None:
    mapped(root, flush=True)


HIDING = (
    rewritten,
    rewritten_and_back,
    swapped,
    exchanged,
    exchanged_folders,
    linked_outside,
    made_anew,
    became_a_link,
    became_a_folder,
    shrunk_and_grown,
    made_runnable,
    copied_in_the_kernel,
    written_past_the_cache,
    punched,
    mapped_without_flush,
    mapped_with_flush,
)


@pytest.mark.parametrize("change", HIDING)
def test_a_change_that_hides_is_seen(bench: Bench, change: Callable[[Path], None]) -> None:
    before = bench.scan()
    change(bench.root)
    assert (bench.scan().digest != before.digest) == (change is not rewritten_and_back)
    bench.scan(bench.another())


# -- writers that live on --------------------------------------------------------------------------


def test_a_mapping_that_lives_through_a_reading_hides_nothing(bench: Bench) -> None:
    judge = bench.root / "judge.py"
    with judge.open("r+b") as file:
        pages = mmap.mmap(file.fileno(), 0)
    pages[18] = ord("6")  # from now on the kernel does not look at this page
    before, stamp = bench.scan(), judge.stat().st_ctime_ns
    pages[18] = ord("7")
    assert judge.stat().st_ctime_ns == stamp  # or there is nothing to be seen here
    after = bench.scan()
    assert before.digest != after.digest
    pages.close()
    bench.scan()


def test_a_writer_that_lives_through_a_reading_leaves_nothing_known(bench: Bench) -> None:
    judge = bench.root / "judge.py"
    with judge.open("r+b", buffering=0) as file:
        file.write(b"assert total() == 6\n")
        bench.scan()
        bench.scan()
        assert "judge.py" in bench.opened
        file.seek(0)
        file.write(b"assert total() == 7\n")
        bench.scan()
    bench.scan()


@pytest.mark.usefixtures("sure")
def test_who_could_write_is_seen_by_descriptor_and_by_mapping(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(PAGE))
    with path.open("rb") as reader:
        assert not has_writer(reader.fileno())
        with path.open("r+b") as writer:
            assert has_writer(reader.fileno())
            pages = mmap.mmap(writer.fileno(), PAGE)
        assert has_writer(reader.fileno())
        pages.close()
        assert not has_writer(reader.fileno())


def test_asking_for_writers_harms_nobody_who_opens_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    busy = "import sys\nfor _ in range(3000): open(sys.argv[1], 'r+b').close()\n"
    writer = subprocess.Popen([sys.executable, "-c", busy, path])
    with path.open("rb") as reader:
        while writer.poll() is None:
            has_writer(reader.fileno())
    assert writer.returncode == 0


# -- clocks ----------------------------------------------------------------------------------------


def test_what_changed_a_moment_before_it_was_read_is_read_again(bench: Bench) -> None:
    (bench.root / "judge.py").write_bytes(b"young\n")
    bench.clock.ahead = stamps.WINDOW // 2
    bench.known = KnownFiles(None, bench.clock)
    for _ in range(3):
        bench.scan()
        assert "judge.py" in bench.opened


def test_a_file_from_the_future_is_read_again(bench: Bench) -> None:
    bench.clock.ahead = -LATER
    bench.known = KnownFiles(None, bench.clock)
    for _ in range(3):
        bench.scan()
        assert len(bench.opened) == COUNT + 2


@pytest.mark.usefixtures("sure")
def test_where_the_clock_was_set_back_everything_is_read(bench: Bench) -> None:
    bench.clock.set_back = stamps.SET_BACK // 2
    bench.scan()
    assert bench.opened == []
    bench.clock.set_back = stamps.SET_BACK * 2
    bench.scan()
    assert len(bench.opened) == COUNT + 2
    bench.scan()
    bench.scan()
    assert bench.opened == []


def test_where_the_clock_was_set_back_between_two_processes_everything_is_read(
    bench: Bench,
) -> None:
    bench.clock.set_back = stamps.SET_BACK * 2
    bench.scan(bench.another())
    assert len(bench.opened) == COUNT + 2


def test_steps_back_that_are_small_add_up(bench: Bench) -> None:
    for _ in range(3):
        bench.clock.set_back += stamps.SET_BACK * 2 // 5
        bench.scan()
    assert len(bench.opened) == COUNT + 2


def test_what_was_read_while_the_clock_was_set_back_is_not_known(bench: Bench) -> None:
    class Falling(Clock):
        def __call__(self) -> Clocks:
            self.set_back += 2 * stamps.SET_BACK
            return super().__call__()

    bench.known = KnownFiles(None, Falling())
    for _ in range(3):
        bench.scan()
        assert len(bench.opened) == COUNT + 2


# -- what is kept ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("sure")
@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda data: data[:40],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data.replace(b"judge.py", b"other.py"),
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data[:-20] + bytes([data[-20] ^ 1]) + data[-19:],
        lambda _: b"SQLite format 3\0" + bytes(5000),
    ],
)
def test_what_is_kept_and_damaged_is_as_good_as_none(
    bench: Bench, damage: Callable[[bytes], bytes]
) -> None:
    assert bench.file is not None
    bench.file.write_bytes(damage(bench.file.read_bytes()))
    bench.scan(bench.another())
    assert len(bench.opened) == COUNT + 2


def test_what_is_kept_of_another_tree_is_as_good_as_none(bench: Bench, tmp_path: Path) -> None:
    shutil.copytree(bench.root, tmp_path / "copy")
    os.rename(bench.root, tmp_path / "away")
    os.rename(tmp_path / "copy", bench.root)
    bench.scan(bench.another())
    assert len(bench.opened) == COUNT + 2


def test_after_the_machine_was_started_anew_everything_is_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "boot", lambda: "another")
    bench.scan(bench.another())
    assert len(bench.opened) == COUNT + 2


def test_where_nobody_knows_when_the_machine_was_started_nothing_is_known(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "boot", lambda: "")
    for _ in range(3):
        bench.scan()
        assert len(bench.opened) == COUNT + 2


def test_what_cannot_be_kept_is_read_again(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    bench.file = tmp_path / "file/known"
    for _ in range(2):
        bench.scan(bench.another())
        assert len(bench.opened) == COUNT + 2


def test_half_a_tree_is_not_known(bench: Bench) -> None:
    rules = ScanRules(max_entries=COUNT - 10)
    known = bench.another()
    assert scan(str(bench.root), rules, known=known).truncated
    bench.scan(known)


def test_what_is_kept_is_for_its_owner_alone(bench: Bench) -> None:
    if bench.file is not None and bench.file.exists():
        assert bench.file.stat().st_mode & 0o777 == 0o600
        assert bench.file.parent.stat().st_mode & 0o777 == 0o700
        assert os.listdir(bench.file.parent) == ["tree"]


# -- other file systems ----------------------------------------------------------------------------


def test_in_memory_everything_is_read_for_no_mapping_is_noted_there() -> None:
    if not os.path.isdir("/dev/shm"):
        pytest.skip("there is no tmpfs at hand")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        make_tree(Path(folder))
        bench = Bench(Path(folder))
        judge = bench.root / "judge.py"
        bench.scan()
        with judge.open("r+b") as file, mmap.mmap(file.fileno(), 0) as pages:
            assert pages[18]
            pages[18] = ord("7")
        bench.scan()
        assert len(bench.opened) == COUNT + 2


def test_a_file_system_that_notes_no_mapping_is_found_out_by_trying(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not os.path.isdir("/dev/shm"):
        pytest.skip("there is no tmpfs at hand")
    monkeypatch.setattr(stamps, "_LOCAL", frozenset({"tmpfs"}))
    assert not notes_changes(Path("/dev/shm"))


MOUNTED = """\
import os, subprocess, sys
from pathlib import Path
from tests.workspace.test_known import Bench
root, beside = Path(sys.argv[1]), Path(sys.argv[2])
bench = Bench(root)
bench.scan()
before = bench.scan()
subprocess.run(["mount", "--bind", beside / "judge.py", root / "judge.py"], check=True)
subprocess.run(["mount", "--bind", beside / "part1", root / "part1"], check=True)
assert bench.scan().digest != before.digest
subprocess.run(["mount", "-t", "tmpfs", "none", root / "part2"], check=True)
(root / "part2/file").write_bytes(b"x")
for _ in range(3):
    bench.scan()
    assert "file" in bench.opened
subprocess.run(["umount", root / "judge.py"], check=True)
bench.scan()
print("done")
"""


@pytest.mark.thorough
def test_what_is_mounted_over_a_file_or_folder_is_seen(bench: Bench, tmp_path: Path) -> None:
    shutil.copytree(bench.root, tmp_path / "beside")
    mount = ["unshare", "--map-root-user", "--mount"]
    try:
        subprocess.run([*mount, "mount", "-t", "tmpfs", "none", "/mnt"], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be mounted here")
    rewritten(tmp_path / "beside")
    done = subprocess.run(
        [*mount, sys.executable, "-c", MOUNTED, bench.root, tmp_path / "beside"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr


# -- any change ------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c/a", "c/b", "c/d/a", "c/d/é", "__pycache__", "e"])
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.sampled_from([b"", b"1", b"2", b"22"])),
        st.tuples(st.just("restore"), NAMES, st.sampled_from([b"1", b"2"])),
        st.tuples(st.just("rename"), NAMES, NAMES),
        st.tuples(st.just("link"), NAMES, NAMES),
        st.tuples(st.just("symlink"), NAMES, NAMES),
        st.tuples(st.just("remove"), NAMES, st.just("")),
        st.tuples(st.just("folder"), NAMES, st.just("")),
        st.tuples(st.just("mode"), NAMES, st.sampled_from([0o600, 0o644, 0o755])),
        st.tuples(st.just("map"), NAMES, st.sampled_from([b"1", b"2"])),
        st.tuples(st.just("scan"), st.booleans(), st.just("")),
    ),
    max_size=25,
)


@pytest.mark.thorough
@given(EDITS)
def test_whatever_is_edited_what_is_known_is_what_is_there(
    edits: list[tuple[str, str, object]],
) -> None:
    patch = pytest.MonkeyPatch()
    patch.setattr(knowing, "_FEW", 0)
    try:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder, "tree"), Path(folder, "state/known/tree"))
            (bench.root / "c/d").mkdir(parents=True)
            Path(folder, "state").mkdir()
            for name in ("a", "b", "c/a", "c/d/a"):
                (bench.root / name).write_bytes(b"1")
            for kind, name, value in edits:
                if kind == "scan":
                    bench.scan(bench.another() if name else None)
                else:
                    edit(kind, bench.root / str(name), bench.root, value)
            bench.scan()
            bench.scan(bench.another())
    finally:
        patch.undo()


def edit(kind: str, path: Path, root: Path, value: object) -> None:
    """Do something to a path, if it can be done."""
    try:
        if kind == "write":
            path.write_bytes(value)  # type: ignore[arg-type]  # as the strategy says
        elif kind == "restore":
            restored(path, lambda: path.write_bytes(value))  # type: ignore[arg-type]  # the same
        elif kind == "rename":
            os.rename(path, root / str(value))
        elif kind == "link":
            os.link(path, root / str(value))
        elif kind == "symlink":
            os.symlink(str(value), path)
        elif kind == "remove":
            path.unlink()
        elif kind == "folder":
            path.mkdir()
        elif kind == "mode":
            path.chmod(value)  # type: ignore[arg-type]  # the same
        else:
            with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as pages:
                pages[0:1] = value  # type: ignore[call-overload]  # the same
    except (OSError, ValueError):
        return
