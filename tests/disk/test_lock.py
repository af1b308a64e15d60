"""The lock: one holder at a time, and fences that only grow."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from planbound.disk.lock import FileLock, ProcessIdentity, this_process
from planbound.errors import ConcurrentModification, FileProblem, Refused
from tests.tables import first_always


class Clock:
    """Time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Locks:
    """Makes holders of one lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = Clock()

    def make(self, *, lease: float = 10, owner: ProcessIdentity | None = None) -> FileLock:
        return FileLock(str(self.path), lease_seconds=lease, clock=self.clock, owner=owner)


@pytest.fixture
def locks(tmp_path: Path) -> Locks:
    return Locks(tmp_path / "state/locks/a.lock")


def test_every_acquisition_has_a_higher_fence(locks: Locks) -> None:
    fences = []
    for _ in range(5):
        lock = locks.make()
        fences.append(lock.acquire(wait_seconds=0))
        assert lock.still_mine()
        lock.release()
        assert not lock.still_mine()
    assert fences == [1, 2, 3, 4, 5]


def test_only_the_owner_may_look_at_locks(locks: Locks) -> None:
    locks.make().acquire(wait_seconds=0)
    for folder in (locks.path.parent, locks.path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in locks.path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_living_holder_is_named_and_keeps_the_lock_while_its_lease_runs(locks: Locks) -> None:
    holder, other = locks.make(), locks.make()
    holder.acquire(wait_seconds=0)
    locks.clock.now += 9
    with pytest.raises(Refused, match=rf"locked by process {os.getpid()} on `") as refusal:
        other.acquire(wait_seconds=0.05)
    assert refusal.value.hint
    assert holder.still_mine()
    assert not other.still_mine()


def test_a_living_holder_is_overtaken_when_its_lease_has_run_out(locks: Locks) -> None:
    holder, other = locks.make(), locks.make()
    first = holder.acquire(wait_seconds=0)
    locks.clock.now += 10
    assert holder.still_mine()  # nobody wanted it
    assert other.acquire(wait_seconds=0) == first + 1
    assert not holder.still_mine()
    with pytest.raises(ConcurrentModification), holder.guarded():
        pytest.fail("the lock was lost")
    with pytest.raises(ConcurrentModification):
        holder.renew()
    holder.release()
    assert other.still_mine()


def test_renewing_starts_the_lease_anew(locks: Locks) -> None:
    holder, other = locks.make(), locks.make()
    holder.acquire(wait_seconds=0)
    locks.clock.now += 9
    holder.renew()
    locks.clock.now += 9
    with pytest.raises(Refused):
        other.acquire(wait_seconds=0)
    assert holder.still_mine()


def test_what_was_never_acquired_is_not_held(locks: Locks) -> None:
    locks.make().acquire(wait_seconds=0)
    with pytest.raises(ConcurrentModification, match="not held"), locks.make().guarded():
        pytest.fail("it is not held")


def test_a_number_that_another_process_has_by_now_holds_nothing(locks: Locks) -> None:
    former = this_process()._replace(started="1")
    locks.make(owner=former, lease=1000).acquire(wait_seconds=0)
    assert locks.make().acquire(wait_seconds=0) == 2


@pytest.mark.parametrize("field", ["host", "realm"])
def test_a_holder_elsewhere_is_not_looked_up_here(locks: Locks, field: str) -> None:
    elsewhere = this_process()._replace(**{field: "elsewhere"}, started="1")  # type: ignore[arg-type]  # either is text
    locks.make(owner=elsewhere).acquire(wait_seconds=0)
    with pytest.raises(Refused):
        locks.make().acquire(wait_seconds=0)
    locks.clock.now += 10
    assert locks.make().acquire(wait_seconds=0) == 2


def test_a_lease_from_before_a_restart_does_not_last(locks: Locks) -> None:
    locks.make(owner=this_process()._replace(realm="an earlier start")).acquire(wait_seconds=0)
    locks.clock.now = 5.0
    assert locks.make().acquire(wait_seconds=0) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"fence": null, "owner": 3}'])
def test_a_record_that_cannot_be_read_is_said_and_not_passed_by(
    locks: Locks, content: bytes
) -> None:
    locks.make().acquire(wait_seconds=0)
    Path(f"{locks.path}.json").write_bytes(content)
    with pytest.raises(FileProblem, match="not the record of a lock"):
        locks.make().acquire(wait_seconds=0)


def test_a_lock_file_that_was_removed_is_made_anew_and_the_fence_is_remembered(
    locks: Locks,
) -> None:
    holder = locks.make()
    holder.acquire(wait_seconds=0)
    locks.path.unlink()
    assert holder.still_mine()
    with pytest.raises(Refused):
        locks.make().acquire(wait_seconds=0)
    holder.release()
    locks.path.unlink()
    assert locks.make().acquire(wait_seconds=0) == 2


# -- processes -----------------------------------------------------------------------------------

HOLD = """
import os, signal, sys
from planbound.errors import Refused
from planbound.disk.files import Files
from planbound.disk.lock import FileLock

class Pausing(FileLock):
    def guarded(self):
        os.kill(os.getpid(), signal.SIGSTOP)  # after the new content is on the disk
        return super().guarded()

how, path, lease, plan = sys.argv[1:]
lock = (Pausing if how == "write" else FileLock)(path, lease_seconds=float(lease))
print(lock.acquire(wait_seconds=10), flush=True)
if how == "stop inside":
    with lock.guarded():
        os.kill(os.getpid(), signal.SIGSTOP)
elif how == "write":
    try:
        Files().replace(plan, b"late", expected=b"old", lock=lock)
    except Refused as error:
        print(type(error).__name__, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", HOLD, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=10)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _wait_until_stopped(process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 20
    stat_file = Path(f"/proc/{process.pid}/stat")
    while stat_file.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < end, "the process does not stop"
        time.sleep(0.005)


@pytest.mark.parametrize("reaped", [True, False])
def test_a_killed_holder_is_overtaken_at_once(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]], *, reaped: bool
) -> None:
    path = tmp_path / "a.lock"
    process = start("hold", str(path), "100000", "")
    fence = int(_line(process))
    lock = FileLock(str(path), lease_seconds=1)
    with pytest.raises(Refused, match=f"process {process.pid} on"):
        lock.acquire(wait_seconds=0)
    process.kill()
    if reaped:
        process.wait(timeout=10)
    assert lock.acquire(wait_seconds=10) == fence + 1


@pytest.mark.requirement("store.fence")
def test_a_paused_holder_writes_nothing_after_it_was_overtaken(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    path, plan = tmp_path / "a.lock", tmp_path / "tree/PLAN.md"
    plan.parent.mkdir()
    plan.write_bytes(b"old")
    process = start("write", str(path), "0.2", str(plan))
    fence = int(_line(process))
    _wait_until_stopped(process)
    assert [name for name in os.listdir(plan.parent) if name.endswith(".tmp")]
    lock = FileLock(str(path), lease_seconds=30)
    assert lock.acquire(wait_seconds=20) == fence + 1
    os.kill(process.pid, signal.SIGCONT)
    # The content is still what it expects: the fence alone keeps it from writing.
    assert _line(process) == "ConcurrentModification"
    assert plan.read_bytes() == b"old"
    assert os.listdir(plan.parent) == ["PLAN.md"]
    assert lock.still_mine()


def test_a_paused_holder_that_nobody_overtook_may_write(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    plan = tmp_path / "PLAN.md"
    plan.write_bytes(b"old")
    process = start("write", str(tmp_path / "a.lock"), "0.01", str(plan))
    _line(process)
    _wait_until_stopped(process)
    os.kill(process.pid, signal.SIGCONT)
    process.communicate("\n", timeout=20)
    assert plan.read_bytes() == b"late"


def test_a_holder_stopped_in_the_middle_of_its_rename_is_waited_for_within_bounds(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    path = tmp_path / "a.lock"
    process = start("stop inside", str(path), "0.01", "")
    fence = int(_line(process))
    _wait_until_stopped(process)
    lock = FileLock(str(path), lease_seconds=1)
    with pytest.raises(Refused, match=f"process {process.pid} on"):
        lock.acquire(wait_seconds=0.3)
    os.kill(process.pid, signal.SIGCONT)
    assert lock.acquire(wait_seconds=20) == fence + 1


COUNT = """
import os, random, sys, time
from planbound.errors import Refused
from planbound.disk.files import Files
from planbound.disk.lock import FileLock

how, path, counter, number = sys.argv[1:]
chance, files, done = random.Random(int(number)), Files(), 0
for attempt in range(1000):
    lock = FileLock(path, lease_seconds=0.2)
    try:
        fence = lock.acquire(wait_seconds=30)
        print("got", fence)
        old = files.read(counter)
        new = old + b"%d\\n" % fence
        # The first pause of each is longer than the lease, and some of the later ones.
        time.sleep(0.35 if attempt == 0 or chance.random() < 0.15 else chance.random() / 50)
        if how == "compare and swap":
            files.replace(counter, new, expected=old, lock=lock)
        else:  # nothing but the fence keeps an update from being lost
            with open(f"{counter}.{number}", "wb") as file:
                file.write(new)
            with lock.guarded():
                os.replace(f"{counter}.{number}", counter)
        print("wrote", fence)
        done += 1
    except Refused as error:
        print("lost", fence, type(error).__name__)
    lock.release()
    if done == 5:
        break
"""


@pytest.mark.thorough
@pytest.mark.parametrize("how", first_always(["compare and swap", "fence only"]))
def test_eight_writers_that_outlast_their_leases_lose_no_update(tmp_path: Path, how: str) -> None:
    counter = tmp_path / "tree/counter"
    counter.parent.mkdir()
    counter.write_bytes(b"")
    common = [sys.executable, "-B", "-c", COUNT, how, str(tmp_path / "a.lock"), str(counter)]
    processes = [
        subprocess.Popen(
            [*common, str(n)],
            stdout=subprocess.PIPE, text=True,
        )
        for n in range(8)
    ]  # fmt: skip
    said = []
    for process in processes:
        out = process.communicate(timeout=300)[0]
        assert process.returncode == 0
        said += [line.split() for line in out.splitlines()]
    got, wrote, lost = (
        sorted(int(line[1]) for line in said if line[0] == word)
        for word in ("got", "wrote", "lost")
    )
    assert got == list(range(1, len(got) + 1)), "a fence was given twice, or left out"
    written = [int(line) for line in counter.read_text().split()]
    assert written == sorted(set(written)), "two writers at once, or one after it was overtaken"
    assert written == wrote, "an update was acknowledged and lost, or the other way round"
    assert len(written) == 8 * 5
    assert lost, "nobody was overtaken: the test has not tested"
    assert json.loads((tmp_path / "a.lock.json").read_text())["fence"] == len(got)
