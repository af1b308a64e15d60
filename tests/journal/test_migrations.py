"""Journals of every schema that was ever released can be used by this version."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
from pathlib import Path

import psycopg
import pytest

from planbound.errors import JournalProblem
from planbound.journal import postgres_database, sqlite_file
from planbound.journal.chain import link, verify
from planbound.journal.record import GENESIS, Head, Query, Record
from planbound.journal.sql import COLUMNS, Migration, migrations, pending, to_row
from planbound.journal.sqlite import SqliteJournal
from planbound.journal.sqlite_file import guards_stand
from tests.journal.child import Place, claim, draft

SQLITE = migrations("sqlite")
POSTGRES = migrations("postgres")
NEXT_SQLITE = Migration(
    len(SQLITE) + 1, "9999_next", "ALTER TABLE journal ADD COLUMN note TEXT;\n-- the end\n"
)
NEXT_POSTGRES = NEXT_SQLITE._replace(number=len(POSTGRES) + 1)
INDEXED = 3
"""The first schema with indexes on the journal itself."""
_LOOKUP = (
    "INSERT INTO lookup SELECT seq, id, plan, event, timestamp, timestamp, task_id, task_number"
    " FROM journal WHERE seq <= 12"
)


def history() -> list[Record]:
    """Return what old journals hold."""
    records: list[Record] = []
    head = GENESIS
    for number in range(20):
        new = draft(f"old-{number}", at=number, plan=f"p{number % 2}", number=number % 4)
        records.append(link(new, head, number // 2 + 1, 1))
        head = Head(records[-1].seq, records[-1].hash)
    return records


def insert(mark: str) -> str:
    # What the first schema has, written out: later ones may have more.
    columns = COLUMNS[:15]
    return f"INSERT INTO journal ({', '.join(columns)}) VALUES ({', '.join([mark] * 15)})"


def make_sqlite(path: Path, schema: int) -> None:
    """Make a journal as the version left it that had this schema."""
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA journal_mode = WAL")
    for migration in SQLITE[:schema]:
        raw.executescript(migration.script)
        raw.execute("INSERT INTO migration (number, name) VALUES (?, ?)", migration[:2])
    raw.executemany(insert("?"), map(to_row, history()))
    if schema < INDEXED:
        raw.execute(_LOOKUP)
    raw.commit()
    raw.close()


def check(place: Place) -> None:
    """Use the journal as a new one."""
    journal = place.open()
    records = list(journal.read(Query()))
    assert records == history()
    assert [record.seq for record in journal.read(Query(plan="p1", task="3"))] == [
        4,
        8,
        12,
        16,
        20,
    ]
    (again,) = journal.append([draft("old-7")])
    assert again == records[7]
    journal.append([draft("new", plan="p1")], expected=Head(20, records[-1].hash))
    assert [record.plan_seq for record in journal.read(Query(plan="p1", last=1))] == [11]
    assert list(verify(journal.read(Query()))) == []
    journal.close()


def test_migrations_are_numbered_without_a_gap() -> None:
    for found in (SQLITE, POSTGRES):
        assert [migration.number for migration in found] == list(range(1, len(found) + 1))
        for migration in found:
            assert re.fullmatch(rf"{migration.number:04}_[a-z_]+", migration.name)
            assert migration.script.endswith(";\n")
    # What only PostgreSQL needs comes behind what both have.
    assert [each.name for each in SQLITE] == [each.name for each in POSTGRES[: len(SQLITE)]]


def test_a_schema_from_the_future_is_refused() -> None:
    assert pending([], SQLITE, where="it") == list(SQLITE)
    assert pending([1], SQLITE[:1], where="it") == []
    with pytest.raises(JournalProblem, match="it was made by a newer version"):
        pending([1, 99], SQLITE, where="it")


@pytest.mark.parametrize("schema", range(1, len(SQLITE) + 1))
def test_sqlite_goes_forward_from_every_released_schema(tmp_path: Path, schema: int) -> None:
    path = tmp_path / "journal.db"
    make_sqlite(path, schema)
    check(Place("sqlite", str(path)))


def applied(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as raw:
        (number,) = raw.execute("SELECT max(number) FROM migration").fetchone()
    assert isinstance(number, int)
    return number


@pytest.mark.requirement("journal.old-schema")
@pytest.mark.parametrize("schema", range(1, len(SQLITE) + 1))
def test_a_journal_is_brought_forward_by_who_writes_and_not_by_who_reads(
    tmp_path: Path, schema: int
) -> None:
    path = tmp_path / "journal.db"
    make_sqlite(path, schema)
    journal = SqliteJournal(str(path))
    assert list(journal.read(Query())) == history()
    assert list(journal.leases().held()) == []
    assert applied(path) == schema
    held_lease = journal.leases().acquire(claim(), seconds=60)
    assert applied(path) == len(SQLITE)
    assert [each.number for each in journal.leases().held()] == [held_lease.number]
    assert journal.head().seq == 20
    journal.close()


@pytest.mark.parametrize("schema", range(1, len(SQLITE) + 1))
def test_the_guards_stand_in_every_released_schema_and_on_the_way_to_this_one(
    tmp_path: Path, schema: int
) -> None:
    path = tmp_path / "journal.db"
    make_sqlite(path, schema)
    assert guards_stand(str(path)) is True
    journal = SqliteJournal(str(path))
    journal.append([draft("new")])
    journal.close()
    assert guards_stand(str(path)) is True
    cut_the_end_off(path)
    assert guards_stand(str(path)) is False


@pytest.mark.parametrize("schema", range(1, len(SQLITE) + 1))
def test_guards_that_were_taken_away_and_put_back_are_noticed(tmp_path: Path, schema: int) -> None:
    path = tmp_path / "journal.db"
    make_sqlite(path, schema)
    cut_the_end_off(path)
    assert guards_stand(str(path)) is False
    journal = SqliteJournal(str(path))
    journal.append([draft("new")])
    journal.close()
    assert guards_stand(str(path)) is False


def test_the_guards_of_a_new_journal_stand(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = SqliteJournal(str(path))
    journal.leases().acquire(claim(), seconds=60)
    journal.append([draft("new")])
    journal.close()
    assert guards_stand(str(path)) is True


def cut_the_end_off(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as raw:
        name = "journal_is_not_deleted"
        text = "SELECT sql FROM sqlite_master WHERE name = ?"
        (guard,) = raw.execute(text, (name,)).fetchone()
        raw.execute(f"DROP TRIGGER {name}")
        raw.execute("DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)")
        raw.execute(guard)
        raw.commit()


def test_sqlite_goes_forward_to_the_next_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    make_sqlite(path, len(SQLITE))
    old = SqliteJournal(str(path))
    assert old.head().seq == 20
    monkeypatch.setattr(sqlite_file, "migrations", lambda _: (*SQLITE, NEXT_SQLITE))
    check(Place("sqlite", str(path)))
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT count(note), count(*) FROM journal").fetchone() == (0, 21)
    assert raw.execute("SELECT count(*) FROM migration").fetchone() == (len(SQLITE) + 1,)
    raw.close()
    monkeypatch.undo()
    old.close()
    for use in (old.head, lambda: old.append([draft("more")])):
        with pytest.raises(JournalProblem, match="newer version"):
            use()


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    make_sqlite(path, len(SQLITE))
    bad = NEXT_SQLITE._replace(script=NEXT_SQLITE.script + "ALTER TABLE no_such ADD COLUMN x;\n")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "migrations", lambda _: (*SQLITE, bad))
        with pytest.raises(JournalProblem, match="no such table: no_such"):
            SqliteJournal(str(path)).append([draft("a")])
    check(Place("sqlite", str(path)))


def test_an_empty_file_becomes_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.touch(0o600)
    journals = [SqliteJournal(str(path)) for _ in range(8)]
    assert journals[0].head() == GENESIS
    assert os.path.getsize(path) == 0
    threads = [
        threading.Thread(target=journal.append, args=([draft(f"{number}")],))
        for number, journal in enumerate(journals)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(verify(journals[0].read(Query())))) == 0
    assert journals[0].head().seq == 8
    for journal in journals:
        journal.close()


def test_without_hard_links_a_journal_is_made_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link_nothing(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link_nothing)
    journal = SqliteJournal(str(tmp_path / "state" / "journal.db"))
    journal.append([draft("a")])
    journal.close()
    assert os.listdir(tmp_path / "state") == ["journal.db"]
    assert os.stat(tmp_path / "state" / "journal.db").st_mode & 0o777 == 0o600


def make_postgres(place: Place, schema: int) -> None:
    with psycopg.connect(place.address) as raw:
        raw.execute(f"CREATE SCHEMA {place.schema}".encode())
        raw.execute(f"SET LOCAL search_path TO {place.schema}".encode())
        for migration in POSTGRES[:schema]:
            raw.execute(migration.script.encode())
            raw.execute("INSERT INTO migration (number, name) VALUES (%s, %s)", migration[:2])
        raw.cursor().executemany(insert("%s").encode(), map(to_row, history()))


@pytest.mark.parametrize("schema", range(1, len(POSTGRES) + 1))
def test_postgres_goes_forward_from_every_released_schema(
    postgres_place: Place, schema: int
) -> None:
    make_postgres(postgres_place, schema)
    check(postgres_place)


def test_postgres_goes_forward_to_the_next_schema(
    postgres_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_postgres(postgres_place, len(POSTGRES))
    following = {"postgres": (*POSTGRES, NEXT_POSTGRES), "catalogue": migrations("catalogue")}
    monkeypatch.setattr(postgres_database, "migrations", following.__getitem__)
    check(postgres_place)
    monkeypatch.undo()
    with pytest.raises(JournalProblem, match="newer version"):
        postgres_place.open().head()


def test_several_may_be_the_first_in_postgres(postgres_place: Place) -> None:
    journals = [postgres_place.open() for _ in range(8)]
    threads = [
        threading.Thread(target=journal.append, args=([draft(f"{number}")],))
        for number, journal in enumerate(journals)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert journals[0].head().seq == 8
    for journal in journals:
        journal.close()
