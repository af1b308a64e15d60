"""Kept contents: all or none, checked on the way in and out."""

from __future__ import annotations

import hashlib
import os
import resource
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planbound.errors import FileProblem
from planbound.journal.sqlite import SqliteJournal
from planbound.workspace import vault as module
from planbound.workspace.vault import Vault
from tests.journal.child import draft
from tests.program import _drop_override


def pair(content: bytes) -> tuple[bytes, bytes]:
    return hashlib.sha256(content).digest(), content


ONE, TWO = pair(b"one"), pair(b"")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state/vault.db"


@pytest.fixture
def vault(path: Path) -> Iterator[Vault]:
    opened = Vault(str(path))
    yield opened
    opened.close()


def test_what_is_kept_is_given_back(vault: Vault, path: Path) -> None:
    assert vault.keep([ONE, TWO, ONE]) == 2
    assert vault.keep([ONE]) == 0
    vault.close()
    other = Vault(str(path))
    assert [other.content(sha256) for sha256, _ in (ONE, TWO)] == [b"one", b""]
    assert other.content(pair(b"none")[0]) is None
    other.close()


def test_nothing_is_made_by_asking(vault: Vault, path: Path) -> None:
    assert vault.content(ONE[0]) is None
    assert vault.missing([ONE[0]]) == {ONE[0]}
    assert not path.parent.exists()


def test_only_its_owner_may_read_it(vault: Vault, path: Path) -> None:
    vault.keep([ONE])
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for each in path.parent.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600


def test_what_is_missing_is_told_however_many_are_asked_for(vault: Vault) -> None:
    pairs = [pair(str(each).encode()) for each in range(2000)]
    assert vault.keep(pairs[::2]) == 1000
    assert vault.missing(sha256 for sha256, _ in pairs) == {sha256 for sha256, _ in pairs[1::2]}
    assert vault.missing([]) == set()


def test_one_wrong_hash_and_nothing_is_kept(vault: Vault) -> None:
    with pytest.raises(FileProblem, match="does not have the hash"):
        vault.keep([ONE, (ONE[0], b"two")])
    assert vault.missing([ONE[0]]) == {ONE[0]}


def test_a_reader_that_fails_leaves_nothing_and_no_lock(vault: Vault, path: Path) -> None:
    def failing() -> Iterator[tuple[bytes, bytes]]:
        yield ONE
        raise OSError("the tree is gone")

    with pytest.raises(OSError, match="the tree is gone"):
        vault.keep(failing())
    other = Vault(str(path))
    assert other.keep([ONE]) == 1
    other.close()


def test_a_large_file_is_not_kept(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.MAX_KEPT == 64 * 2**20
    monkeypatch.setattr(module, "MAX_KEPT", 10)
    large = pair(bytes(11))
    assert vault.keep([large, pair(bytes(10))]) == 1
    assert vault.missing([large[0]]) == {large[0]}


def test_a_content_that_was_changed_in_the_file_is_refused_and_mended(
    vault: Vault, path: Path
) -> None:
    vault.keep([ONE, TWO])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE object SET content = x'00' WHERE sha256 = ?", (ONE[0],))
    connection.close()
    with pytest.raises(FileProblem, match="damaged"):
        vault.content(ONE[0])
    assert vault.keep([ONE]) == 1
    assert vault.content(ONE[0]) == b"one"


@given(at=st.integers(0, 30_000), junk=st.binary(min_size=1, max_size=200))
@example(at=4056, junk=b"\x80")  # SQLite's message quotes it, and is no text then
def test_a_damaged_file_never_gives_a_wrong_content(
    tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("state") / "vault.db"
    pairs = [pair(bytes([each]) * 3000) for each in range(8)]
    vault = Vault(str(path))
    vault.keep(pairs)
    vault.close()
    data = bytearray(path.read_bytes())
    data[at : at + len(junk)] = junk
    path.write_bytes(data)
    for sha256, content in pairs:
        try:
            assert vault.content(sha256) in {content, None}
        except FileProblem as problem:
            assert str(path) in problem.message
    vault.close()


def test_another_database_a_text_and_a_directory_are_refused(tmp_path: Path) -> None:
    journal = SqliteJournal(str(tmp_path / "journal.db"))
    journal.append([draft("a")])
    journal.close()
    (tmp_path / "text").write_text("this is no database\n" * 100)
    (tmp_path / "folder").mkdir()
    for name, reason in (
        ("journal.db", "something else"),
        ("text", "damaged"),
        ("folder", "not a file"),
        ("text/vault.db", "not a directory"),
    ):
        vault = Vault(str(tmp_path / name))
        with pytest.raises(FileProblem, match=reason):
            vault.keep([ONE])
        vault.close()


KEEP = """\
import hashlib, sys
from planbound.errors import FileProblem
from planbound.workspace.vault import Vault
vault = Vault(sys.argv[1])
for size in map(int, sys.argv[2:]):
    content = bytes([size % 256]) * size
    try:
        print(vault.keep([(hashlib.sha256(content).digest(), content)]))
    except FileProblem as problem:
        print(problem.message)
"""


def test_no_space_is_told_and_there_may_be_some_later(vault: Vault) -> None:
    vault.keep([ONE])
    with vault._handle as connection:
        assert connection is not None
        connection.execute("PRAGMA max_page_count = 10")
    large = pair(bytes(10**6))
    with pytest.raises(FileProblem, match="no space left"):
        vault.keep([TWO, large])
    assert vault.missing([ONE[0], TWO[0]]) == {TWO[0]}
    assert vault.keep([TWO, large]) == 2


def test_a_disk_that_takes_no_more_is_told_and_what_was_kept_stays(
    vault: Vault, path: Path
) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    done = subprocess.run(
        [sys.executable, "-c", KEEP, path, "1000", "1000000", "2000"],
        capture_output=True, text=True, check=True, preexec_fn=no_room,
    )  # fmt: skip
    first, second, third = done.stdout.splitlines()
    assert (first, third) == ("1", "1")
    assert str(path) in second
    assert second.startswith("cannot write")
    assert vault.content(hashlib.sha256(b"\xe8" * 1000).digest()) == b"\xe8" * 1000


def test_a_folder_that_may_not_be_written_is_told(path: Path) -> None:
    path.parent.mkdir(mode=0o500)
    done = subprocess.run(
        [sys.executable, "-c", KEEP, path, "1"],
        capture_output=True, text=True, check=True,
        preexec_fn=_drop_override if os.geteuid() == 0 else None,
    )  # fmt: skip
    assert "Permission denied" in done.stdout


def test_many_processes_make_and_fill_one_vault(vault: Vault, path: Path) -> None:
    def run(number: int) -> str:
        sizes = [str(size) for size in range(number, number + 20)]
        command = [sys.executable, "-c", KEEP, str(path), *sizes]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(run, [1, 1, 11, 11]))
    assert sum(int(line) for each in told for line in each.splitlines()) == 30
    wanted = {hashlib.sha256(bytes([size]) * size).digest() for size in range(1, 31)}
    assert vault.missing(wanted) == set()
