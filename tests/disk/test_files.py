"""Whole files under races, kills and failing disks."""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from planbound.disk.files import EXPECT_ABSENT, LEASE_SECONDS, Files, content_hash
from planbound.disk.lock import FileLock
from planbound.errors import AlreadyExists, ConcurrentModification, Refused, UsageError
from tests.needs import need
from tests.tables import first_always

OLD, NEW = "the old plan\n" * 50, "the new plan\n" * 500


@pytest.fixture(params=["with a lock", "without"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return Files(str(tmp_path / "state/locks") if request.param == "with a lock" else None)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    path = tmp_path / "tree/PLAN.md"
    path.write_text(OLD)
    return path


def test_replacing_keeps_the_mode_and_leaves_nothing_else(files: Files, plan: Path) -> None:
    plan.chmod(0o640)
    files.replace(str(plan), NEW.encode(), expected=OLD.encode())
    assert plan.read_text() == NEW
    assert stat.S_IMODE(plan.stat().st_mode) == 0o640
    assert os.listdir(plan.parent) == ["PLAN.md"]


@pytest.mark.requirement("store.compare-and-swap")
def test_a_stale_expectation_changes_nothing(files: Files, plan: Path) -> None:
    before = plan.stat()
    with pytest.raises(ConcurrentModification, match="nothing was written"):
        files.replace(str(plan), NEW.encode(), expected=b"what was there before\n")
    after = plan.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert plan.read_text() == OLD
    assert os.listdir(plan.parent) == ["PLAN.md"]


def test_a_file_that_was_removed_is_not_written_again(files: Files, plan: Path) -> None:
    plan.unlink()
    with pytest.raises(ConcurrentModification):
        files.replace(str(plan), NEW.encode(), expected=OLD.encode())
    assert os.listdir(plan.parent) == []


def test_a_file_larger_than_a_plan_is_compared_to_its_end(files: Files, plan: Path) -> None:
    plan.write_bytes(b"x" * 20_000_000)
    with pytest.raises(ConcurrentModification):
        files.replace(str(plan), b"short", expected=files.read(str(plan)))
    assert plan.stat().st_size == 20_000_000


def test_a_symbolic_link_is_written_through(files: Files, plan: Path) -> None:
    link = plan.with_name("link.md")
    link.symlink_to("PLAN.md")
    files.replace(str(link), NEW.encode(), expected=OLD.encode())
    assert link.is_symlink()
    assert plan.read_text() == NEW


def test_two_names_of_one_file_have_one_lock(tmp_path: Path, plan: Path) -> None:
    files = Files(str(tmp_path / "locks"))
    link = plan.with_name("link.md")
    link.symlink_to("PLAN.md")
    assert files.lock(str(link)).path == files.lock(str(plan)).path
    assert files.lock(str(plan.with_name("other.md"))).path != files.lock(str(plan)).path


def test_what_is_no_regular_file_is_not_replaced(files: Files, plan: Path) -> None:
    pipe = plan.with_name("pipe")
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="a FIFO"):
        files.replace(str(pipe), NEW.encode(), expected=b"")
    assert sorted(os.listdir(plan.parent)) == ["PLAN.md", "pipe"]


@pytest.mark.parametrize("what", ["file", "dangling link", "folder"])
def test_creating_never_overwrites(files: Files, plan: Path, what: str) -> None:
    path = plan.with_name("there")
    if what == "file":
        path.write_text(OLD)
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    with pytest.raises(AlreadyExists):
        files.create(str(path), NEW.encode())
    assert sorted(os.listdir(plan.parent)) == ["PLAN.md", "there"]
    assert what != "file" or path.read_text() == OLD


def test_a_swap_takes_a_hash_or_expects_nothing(files: Files, plan: Path) -> None:
    path = plan.with_name("new.md")
    files.swap(str(path), OLD.encode(), expected=EXPECT_ABSENT)
    files.swap(str(path), NEW.encode(), expected=content_hash(OLD.encode()))
    assert path.read_text() == NEW
    with pytest.raises(AlreadyExists):
        files.swap(str(path), OLD.encode(), expected=EXPECT_ABSENT)


def test_a_lock_that_the_caller_holds_stays_held(tmp_path: Path, plan: Path) -> None:
    files = Files(str(tmp_path / "locks"))
    lock = files.lock(str(plan))
    fence = lock.acquire(wait_seconds=0)
    files.replace(str(plan), NEW.encode(), expected=OLD.encode(), lock=lock)
    files.replace(str(plan), OLD.encode(), expected=NEW.encode(), lock=lock)
    assert lock.still_mine()
    lock.release()
    assert files.lock(str(plan)).acquire(wait_seconds=0) == fence + 1


def test_a_lock_that_was_lost_keeps_its_old_holder_from_writing(tmp_path: Path, plan: Path) -> None:
    files = Files(str(tmp_path / "locks"))
    now = 0.0
    first = FileLock(str(tmp_path / "a"), lease_seconds=1, clock=lambda: now)
    second = FileLock(str(tmp_path / "a"), lease_seconds=1, clock=lambda: now)
    first.acquire(wait_seconds=0)
    now = 1.5
    second.acquire(wait_seconds=0)
    # The content is what the first holder expects: only the fence tells it off.
    with pytest.raises(ConcurrentModification, match=r"lock of .* was lost"):
        files.replace(str(plan), NEW.encode(), expected=OLD.encode(), lock=first)
    with pytest.raises(ConcurrentModification, match=r"lock of .* was lost"):
        files.create(str(plan.with_name("new.md")), b"", lock=first)
    assert plan.read_text() == OLD
    assert os.listdir(plan.parent) == ["PLAN.md"]


CREATE_MANY = """
import sys
from planbound.errors import AlreadyExists
from planbound.disk.files import Files
folder, locks, name = sys.argv[1:]
files = Files(locks or None)
print("ready", flush=True)
sys.stdin.readline()
for number in range(60):
    try:
        files.create(f"{folder}/{number}.md", name.encode() * 100)
        print("won", number)
    except AlreadyExists:
        print("lost", number)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("locked", [True, False])
def test_of_two_creators_exactly_one_wins(tmp_path: Path, *, locked: bool) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    locks = str(tmp_path / "locks") if locked else ""
    racers = {name: _start(CREATE_MANY, str(folder), locks, name) for name in "ab"}
    for racer in racers.values():
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    won: dict[str, list[int]] = {}
    for racer in racers.values():
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for name, racer in racers.items():
        out = racer.communicate(timeout=30)[0]
        assert racer.returncode == 0
        assert len(out.splitlines()) == 60
        won[name] = [int(number) for number in re.findall(r"won (\d+)", out)]
    assert sorted(won["a"] + won["b"]) == list(range(60))
    for name, numbers in won.items():
        assert all((folder / f"{n}.md").read_text() == name * 100 for n in numbers)
    assert len(os.listdir(folder)) == 60


# -- kills and failing disks ---------------------------------------------------------------------

WRITE = """
import sys
from planbound.errors import PlanboundError
from planbound.disk.files import Files
kind, path, locks, old, new = sys.argv[1:]
try:
    if kind == "create":
        Files(locks).create(path, new.encode())
    else:
        Files(locks).replace(path, new.encode(), expected=old.encode())
except PlanboundError as error:
    sys.exit(f"{type(error).__name__}: {error.message}")
"""
CALLS = ("write", "fsync", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "flock")


class Trial(NamedTuple):
    """One write in a folder of its own, with one call of the system tampered with."""

    folder: Path
    call: str
    nth: int
    code: int
    err: str
    log: str

    @property
    def plan(self) -> Path:
        return self.folder / "tree/PLAN.md"

    @property
    def content(self) -> str | None:
        return self.plan.read_text() if self.plan.exists() else None

    @property
    def fence(self) -> int:
        records = list((self.folder / "locks").glob("*.json"))
        return json.loads(records[0].read_text())["fence"] if records else 0


def _try(base: Path, kind: str, call: str, nth: int, inject: str | None) -> Trial:
    folder = base / f"{kind}-{call}-{nth}-{(inject or 'none').replace(':', '')}"
    (folder / "tree").mkdir(parents=True)
    plan, log = folder / "tree/PLAN.md", folder / "log"
    if kind == "replace":
        plan.write_text(OLD)
    tamper = ["-e", f"inject={call}:{inject}:when={nth}"] if inject else []
    need("strace", "install it (`apt-get install strace`) to make system calls fail")
    # A signal is not injected under `--seccomp-bpf`, which would be faster.
    done = subprocess.run(
        ["strace", "-f", *([] if "signal" in (inject or "") else ["--seccomp-bpf"]), "-qqy",
         "-o", str(log), "-e", "trace=" + ",".join(f"?{name}" for name in CALLS), *tamper,
         sys.executable, "-B", "-c", WRITE, kind, str(plan), str(folder / "locks"), OLD, NEW],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    return Trial(folder, call, nth, done.returncode, done.stderr, log.read_text())


def _trials(base: Path, kind: str, names: tuple[str, ...], inject: list[str]) -> list[Trial]:
    plain = _try(base, kind, "none", 0, None)
    assert (plain.code, plain.content) == (0, NEW), plain.err + plain.log
    made = Counter(re.findall(r"^\d+ +(\w+)\(", plain.log, re.MULTILINE))
    points = [(name, nth) for name in names for nth in range(1, made[name] + 1)]
    assert {"write", "fsync"} <= {name for name, _ in points}
    with ThreadPoolExecutor(max_workers=3) as pool:
        running = [
            pool.submit(_try, base, kind, name, nth, how)
            for (name, nth), how in itertools.product(points, inject)
        ]
        return [trial.result() for trial in running]


@pytest.mark.parametrize("kind", ["create", "replace"])
def test_the_content_is_on_the_disk_before_its_name_and_then_the_name(
    tmp_path: Path, kind: str
) -> None:
    log = _try(tmp_path, kind, "none", 0, None).log
    name = r"(?:rename|link)\w*\("
    order = [
        rf"fsync\(\d+<{tmp_path}\S+/locks/\S+\.json\.tmp>\)",
        rf"{name}.*\.json\.tmp",
        rf"fsync\(\d+<{tmp_path}\S+/locks>\)",
        rf"fsync\(\d+<{tmp_path}\S+/tree/\.PLAN\.md\.f1-\w+\.tmp>\)",
        r"flock\(.*LOCK_EX",
        rf"{name}.*/tree/\.PLAN\.md\.f1-\w+\.tmp.*/tree/PLAN\.md",
        r"flock\(.*LOCK_UN",
        rf"fsync\(\d+<{tmp_path}\S+/tree>\)",
    ]
    assert re.search(".*".join(order), log, re.DOTALL), log


@pytest.mark.thorough
@pytest.mark.parametrize("kind", first_always(["create", "replace"]))
def test_a_kill_at_any_point_leaves_one_whole_content_and_no_block(
    tmp_path: Path, kind: str
) -> None:
    trials = _trials(tmp_path, kind, CALLS, ["signal=SIGKILL"])
    before = {"create": None, "replace": OLD}[kind]
    assert {trial.content for trial in trials} == {before, NEW}
    for trial in trials:
        assert trial.code == -9, trial
        path, fence = str(trial.plan), trial.fence
        files = Files(str(trial.folder / "locks"))
        # The next writer waits for no lease: the holder is dead.
        lock = files.lock(path)
        assert lock.acquire(wait_seconds=LEASE_SECONDS / 2) > fence
        if trial.content is None:
            files.create(path, b"next", lock=lock)
        else:
            files.replace(path, b"next", expected=trial.content.encode(), lock=lock)
        lock.release()
        assert os.listdir(trial.plan.parent) == ["PLAN.md"], trial


@pytest.mark.thorough
@pytest.mark.parametrize("kind", first_always(["create", "replace"]))
def test_a_disk_that_fails_at_any_point_leaves_the_old_content_and_no_litter(
    tmp_path: Path, kind: str
) -> None:
    trials = _trials(tmp_path, kind, CALLS[:7], ["error=EIO", "error=ENOSPC"])
    before = {"create": None, "replace": OLD}[kind]
    refused = 0
    for trial in trials:
        assert "INJECTED" in trial.log
        left = [*os.listdir(trial.plan.parent), *os.listdir(trial.folder / "locks")]
        assert not [name for name in left if name.endswith(".tmp")], trial
        if trial.code == 0:
            # Only giving the lock back failed, and that runs out by itself.
            assert trial.content == NEW
            continue
        assert trial.err.startswith("FileProblem: "), trial
        # The folder is synced when the name is there already: that is said, not hidden.
        confirmed = "PLAN.md` was written, but the disk did not confirm it" not in trial.err
        assert trial.content == (before if confirmed else NEW), trial
        refused += confirmed
    assert refused >= 2 * 6


def test_a_file_system_without_hard_links_is_good_enough(tmp_path: Path) -> None:
    trial = _try(tmp_path, "create", "linkat", 1, "error=EPERM")
    assert "INJECTED" in trial.log
    assert (trial.code, trial.content) == (0, NEW)
    assert os.listdir(trial.plan.parent) == ["PLAN.md"]


def test_a_living_writer_is_named_to_the_one_that_waits(tmp_path: Path, plan: Path) -> None:
    files = Files(str(tmp_path / "locks"))
    files.lock(str(plan)).acquire(wait_seconds=0)
    with pytest.raises(Refused, match=rf"PLAN.md` is locked by process {os.getpid()} on"):
        files.lock(str(plan)).acquire(wait_seconds=0)


def _start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-B", "-c", script, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
