"""What only the journal in a file has: permissions, crashes, full disks, damage."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import random
import shutil
import sqlite3
import stat
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest

from planbound.disk.watch import FolderWatch
from planbound.errors import JournalProblem
from planbound.journal import sqlite as sqlite_module
from planbound.journal import sqlite_file
from planbound.journal.chain import verify
from planbound.journal.record import GENESIS, Query, Record
from planbound.journal.sqlite import SqliteJournal
from tests.journal.child import PROBLEM, Place, draft
from tests.needs import need


def ids(path: str) -> list[str]:
    """Return the ids of all events; the chain must be whole."""
    journal = SqliteJournal(path)
    records = list(journal.read(Query()))
    journal.close()
    assert list(verify(records)) == []
    return [record.draft.id for record in records]


def acknowledged(output: str) -> list[str]:
    return [line.removeprefix("ack ") for line in output.splitlines() if line.startswith("ack ")]


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


# -- the file ----------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_only_the_owner_can_read_it_whatever_the_umask_is(tmp_path: Path, umask: int) -> None:
    path = str(tmp_path / "new" / "project" / "journal.db")
    before = os.umask(umask)
    try:
        journal = SqliteJournal(path)
        journal.append([draft("a")])
        for suffix in ("", "-wal", "-shm"):
            assert mode(path + suffix) == 0o600
    finally:
        os.umask(before)
    assert mode(tmp_path / "new") == 0o700
    assert mode(tmp_path / "new" / "project") == 0o700
    journal.close()
    assert os.listdir(tmp_path / "new" / "project") == ["journal.db"]


def test_reading_makes_nothing(sqlite_place: Place) -> None:
    journal = sqlite_place.open()
    assert journal.head() == GENESIS
    assert list(journal.read(Query())) == []
    assert journal.wait(0, 0.05) is False
    assert not os.path.exists(os.path.dirname(sqlite_place.address))


@pytest.mark.requirement("receipt.journal")
def test_the_hashes_of_all_records_are_read_at_once_and_none_may_lack(tmp_path: Path) -> None:
    path = str(tmp_path / "journal.db")
    journal = SqliteJournal(path)
    journal.append([draft(name) for name in "abcd"])
    known = [record.hash for record in journal.read(Query())]
    assert [each.hex() for each in journal.hashes(4)] == known
    assert [each.hex() for each in journal.hashes(2)] == known[:2]
    assert journal.hashes(0) == []
    with pytest.raises(JournalProblem, match="has 4 records up to number 5"):
        journal.hashes(5)
    journal.close()


def test_commits_are_synced_and_go_to_a_log(sqlite_place: Place) -> None:
    journal = SqliteJournal(sqlite_place.address)
    journal.append([draft("a")])
    with journal._writer as connection:
        assert connection is not None
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    journal.close()


def test_a_closed_journal_opens_again(sqlite_place: Place) -> None:
    journal = sqlite_place.open()
    journal.append([draft("a")])
    journal.close()
    journal.append([draft("b")])
    assert journal.head().seq == 2
    journal.close()


def test_a_file_in_the_place_of_another_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "TRUST", 0)
    old, new = SqliteJournal(str(tmp_path / "old.db")), SqliteJournal(str(tmp_path / "new.db"))
    old.append([draft("a"), draft("b")])
    new.append([draft("c")])
    new.close()
    with sqlite3.connect(tmp_path / "old.db") as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    assert old.head().seq == 2
    for suffix in ("-wal", "-shm"):
        os.unlink(tmp_path / f"old.db{suffix}")
    os.replace(tmp_path / "new.db", tmp_path / "old.db")
    assert old.head().seq == 1
    old.append([draft("d")])
    old.close()
    assert ids(str(tmp_path / "old.db")) == ["c", "d"]


# Python 3.12 and later warn of what is tested here.
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@FORKS
def test_a_fork_does_not_take_the_connection_along(sqlite_place: Place) -> None:
    journal = SqliteJournal(sqlite_place.address)
    journal.append([draft("parent")])
    assert journal.head().seq == 1
    context = multiprocessing.get_context("fork")
    child = context.Process(target=journal.append, args=([draft("child")],))
    child.start()
    journal.append([draft("parent again")])
    child.join(30)
    assert child.exitcode == 0
    assert journal.head().seq == 3
    journal.close()
    assert sorted(ids(sqlite_place.address)) == ["child", "parent", "parent again"]


@FORKS
def test_a_fork_waits_for_threads_that_append(sqlite_place: Place) -> None:
    journal = SqliteJournal(sqlite_place.address)
    stop = threading.Event()
    appended: list[Record] = []

    def work(name: str) -> None:
        while not stop.is_set():
            appended.extend(
                journal.append([draft(f"{name}-{len(appended)}-{os.urandom(4).hex()}")])
            )

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    context = multiprocessing.get_context("fork")
    forked = [context.Process(target=journal.append, args=([draft(f"f{n}")],)) for n in range(5)]
    for process in forked:
        process.start()
    for process in forked:
        process.join(30)
    stop.set()
    for thread in threads:
        thread.join()
    assert [process.exitcode for process in forked] == [0] * 5
    journal.close()
    assert len(ids(sqlite_place.address)) == len(appended) + 5


@pytest.mark.thorough
@FORKS
def test_threads_that_fork_at_once_leave_the_journal_open(sqlite_place: Place) -> None:
    journals = [SqliteJournal(sqlite_place.address) for _ in range(4)]
    for number, journal in enumerate(journals):
        journal.append([draft(f"before-{number}")])
    done: list[int] = []

    def work() -> None:
        for _ in range(20):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                child = os.fork()
            if child == 0:
                os._exit(0)
            done.append(os.waitpid(child, 0)[1])

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert done == [0] * 80
    for number, journal in enumerate(journals):
        journal.append([draft(f"after-{number}")])
        journal.close()
    assert len(ids(sqlite_place.address)) == 8


def test_waiting_works_where_the_kernel_does_not_tell(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "other")
    with FolderWatch(".") as watch:
        assert watch.wait(0.01) is False
    journal = sqlite_place.open()
    timer = threading.Timer(0.1, journal.append, args=([draft("a")],))
    timer.start()
    assert journal.wait(0, 30) is True
    timer.join()
    journal.close()


# -- what cannot be used -----------------------------------------------------------------------


def obey_permissions() -> None:
    """Take away what lets root pass by file permissions."""
    prctl = ctypes.CDLL(None).prctl
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def outcome(place: Place, mode: str, *arguments: object) -> tuple[int, str]:
    """Return how a process ended that has to obey permissions, and what it said."""
    with place.start(mode, *arguments, before=obey_permissions) as process:
        output, errors = process.communicate(timeout=300)
    assert errors == ""
    return process.returncode, output


def make_read_only(place: Place) -> None:
    folder = os.path.dirname(place.address)
    for name in os.listdir(folder):
        os.chmod(os.path.join(folder, name), 0o400)
    os.chmod(folder, 0o500)


def test_a_file_that_cannot_be_written_can_be_read(sqlite_place: Place) -> None:
    journal = sqlite_place.open()
    journal.append([draft("a"), draft("b")])
    journal.close()
    make_read_only(sqlite_place)
    assert outcome(sqlite_place, "read") == (0, "read 2\n")
    code, said = outcome(sqlite_place, "append", "more", 1)
    assert code == PROBLEM
    assert "for writing: no permission" in said


@pytest.mark.thorough
def test_a_log_that_cannot_be_written_can_be_read(sqlite_place: Place) -> None:
    journal = sqlite_place.open()
    journal.append([draft("a"), draft("b")])
    make_read_only(sqlite_place)  # while it is open, so with its log
    assert outcome(sqlite_place, "read") == (0, "read 2\n")
    code, said = outcome(sqlite_place, "append", "more", 1)
    assert code == PROBLEM
    assert "for writing: no permission" in said
    journal.close()


def test_a_log_without_its_index_is_not_passed_over(sqlite_place: Place) -> None:
    journal = sqlite_place.open()
    journal.append([draft("a"), draft("b")])
    copy = os.path.join(os.path.dirname(sqlite_place.address), "copy", "journal.db")
    os.mkdir(os.path.dirname(copy))
    for suffix in ("", "-wal"):
        shutil.copy(sqlite_place.address + suffix, copy + suffix)
    journal.close()
    place = Place("sqlite", copy)
    make_read_only(place)
    code, said = outcome(place, "read")
    assert code == PROBLEM
    assert "-wal`, and reading that needs a writable folder" in said


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    journal = SqliteJournal(str(tmp_path / "file" / "state" / "journal.db"))
    with pytest.raises(JournalProblem, match=r"cannot make `.*/file`: it is not a directory"):
        journal.append([draft("a")])


@pytest.mark.parametrize("what", ["folder", "fifo", "dangling link"])
def test_what_is_no_file_is_refused(tmp_path: Path, what: str) -> None:
    path = str(tmp_path / "journal.db")
    if what == "folder":
        os.mkdir(path)
    elif what == "fifo":
        os.mkfifo(path)
    else:
        os.symlink("nowhere", path)
    journal = SqliteJournal(path)
    for use in (journal.head, lambda: journal.append([draft("a")])):
        with pytest.raises(JournalProblem, match=r"journal\.db"):
            use()


def test_what_is_not_a_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"# not a database\n" * 1000)
    journal = SqliteJournal(str(path))
    for use in (journal.head, lambda: journal.append([draft("a")]), lambda: journal.wait(0, 1)):
        with pytest.raises(JournalProblem, match="is not a journal"):
            use()


def test_the_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE journal (text)")
    raw.close()
    before = path.read_bytes()
    journal = SqliteJournal(str(path))
    for use in (journal.head, lambda: journal.append([draft("a")])):
        with pytest.raises(JournalProblem, match="something else"):
            use()
    assert path.read_bytes() == before


def test_damage_is_told_and_never_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = SqliteJournal(str(path))
    journal.append([draft(f"{number}", text="x" * 2000) for number in range(200)])
    journal.close()
    whole = path.read_bytes()
    chance = random.Random(7)
    told = 0
    for _ in range(60):
        damaged = bytearray(whole)
        start = chance.randrange(100, len(whole))
        damaged[start : start + 3000] = chance.randbytes(len(damaged[start : start + 3000]))
        path.write_bytes(damaged)
        journal = SqliteJournal(str(path))
        try:
            told += bool(list(verify(journal.read(Query()))))
            journal.append([draft("more")])
        except JournalProblem:
            told += 1
        journal.close()
        for suffix in ("-wal", "-shm"):
            (tmp_path / f"journal.db{suffix}").unlink(missing_ok=True)
    assert told > 30


def test_a_record_of_a_newer_version_is_named(sqlite_place: Place) -> None:
    journal = sqlite_place.open()
    journal.append([draft("a")])
    with sqlite3.connect(sqlite_place.address) as raw:
        raw.execute("DROP TRIGGER journal_is_not_updated")
        raw.execute("UPDATE journal SET event = 'STEP_DREAMT'")
    with pytest.raises(JournalProblem, match=r"record 1 .* `STEP_DREAMT`"):
        list(journal.read(Query()))
    with raw:
        raw.execute("UPDATE journal SET event = 'TASK_STARTED', version = 99")
    with pytest.raises(JournalProblem, match=r"record 1 .* version 99"):
        list(journal.read(Query()))
    raw.close()
    journal.close()


def test_a_lock_that_is_never_given_back_is_told(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "PATIENCE", 0.1)
    monkeypatch.setattr(sqlite_file, "TURN", 0.05)
    journal = sqlite_place.open()
    journal.append([draft("a")])
    journal.close()
    raw = sqlite3.connect(sqlite_place.address, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalProblem, match="locked by another process"):
        journal.append([draft("b")])
    assert journal.head().seq == 1
    raw.execute("ROLLBACK")
    raw.close()
    journal.append([draft("b")])
    journal.close()


# -- crashes -----------------------------------------------------------------------------------


def test_twenty_processes_may_be_the_first(sqlite_place: Place) -> None:
    with sqlite_place.start("crowd", 20) as child:
        output, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    expected = sorted(acknowledged(output))
    assert len(expected) == 20
    assert sorted(ids(sqlite_place.address)) == expected
    left = os.listdir(os.path.dirname(sqlite_place.address))
    assert set(left) <= {"journal.db", "journal.db-wal", "journal.db-shm"}


@pytest.mark.thorough
def test_what_was_acknowledged_survives_sigkill(sqlite_place: Place) -> None:
    chance = random.Random()
    expected: list[str] = []
    for round_ in range(12):
        with sqlite_place.start("endless", f"r{round_}") as child:
            assert child.stdout is not None
            for _ in range(chance.randrange(0, 40)):
                expected += acknowledged(child.stdout.readline())
            threading.Event().wait(chance.random() * 0.02)
            child.kill()
            rest, errors = child.communicate(timeout=300)
            assert errors == ""
            expected += acknowledged(rest)
        found = ids(sqlite_place.address)
        batches = [name.rpartition("-")[0] for name in found]
        assert set(expected) <= set(batches)
        assert all(batches.count(name) == 3 for name in set(batches)), "half of an append"
        assert batches[::3] == list(dict.fromkeys(batches))


STRACE = (
    "this test makes system calls fail by `strace`: install it (`apt install strace`), and let"
    " processes be traced (in a container: `--cap-add SYS_PTRACE`)"
)
FAILING = "pwrite64,fsync,fdatasync,ftruncate,fallocate,link,linkat"
# Not `write`: SQLite does not use it, and the child acknowledges by it.


def run_with_faults(
    folder: Path, fault: str, calls: Sequence[int], *, lasting: bool
) -> list[tuple[str, int]]:
    """Append with a fault from each of these calls on, or at it only; return how each went.

    One process under `strace` forks for all of them: what it counts, it counts for each alone.
    """
    # After a fault that passes, the child tries again; after one that stays, it gives up.
    mode = "append" if lasting else "stubborn"
    trace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={FAILING}"]
    # So that other calls cost nothing; but it lets no signal be sent.
    trace += [] if fault.startswith("signal") else ["--seccomp-bpf"]
    trace += ["-e", f"inject={FAILING}:{fault}:when={max(calls)}{'+' if lasting else ''}"]
    with Place("sqlite", str(folder)).start("faulty", mode, *calls, under=trace) as child:
        output, errors = child.communicate(timeout=300)
    assert errors == ""
    codes = [int(line.split()[1]) for line in output.splitlines()]
    return [
        (_sound_after_fault(folder / str(call)), code)
        for call, code in zip(calls, codes, strict=True)
    ]


def _sound_after_fault(folder: Path) -> str:
    """Look at what is left with the disk in order again; return what was said."""
    address, said = str(folder / "journal.db"), (folder / "said").read_text()
    # All that was acknowledged is there, and it can go on.
    assert set(acknowledged(said)) <= set(ids(address)), folder.name
    journal = SqliteJournal(address)
    journal.append([draft(f"a-{number}") for number in range(12)])
    journal.close()
    assert set(ids(address)) == {f"a-{number}" for number in range(12)}
    return said


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fault",
    ["error=ENOSPC", pytest.param("error=EIO", marks=pytest.mark.thorough), "signal=KILL"],
)
def test_what_was_acknowledged_survives_a_failing_disk(tmp_path: Path, fault: str) -> None:
    need("strace", STRACE)
    calls = [*range(1, 24), *range(24, 60, 5)]
    ends = [
        *run_with_faults(tmp_path, fault, [call for call in calls if call % 2], lasting=True),
        *run_with_faults(tmp_path, fault, [call for call in calls if not call % 2], lasting=False),
    ]
    hit = [output for output, code in ends if code or "problem" in output]
    assert len(hit) > 20, STRACE
    if fault != "signal=KILL":
        assert {code for _, code in ends} <= {0, PROBLEM}
        assert all("problem " in output for output in hit)


@pytest.mark.thorough
def test_what_was_acknowledged_survives_a_file_that_cannot_grow(tmp_path: Path) -> None:
    ends = []
    for size in (1000, 30_000, 50_000, 53_000, 61_111, 70_000):
        place = Place("sqlite", str(tmp_path / str(size) / "journal.db"))
        with place.start("limited", "a", size, 40) as child:
            output, errors = child.communicate(timeout=300)
        assert errors == ""
        ends.append(child.returncode)
        assert set(acknowledged(output)) <= set(ids(place.address))
        journal = SqliteJournal(place.address)
        journal.append([draft("after")])
        journal.close()
        assert ids(place.address)[-1] == "after"
    assert PROBLEM in ends
