"""One suite for every journal: the fake, SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from planbound.errors import JournalProblem, Stale
from planbound.journal import sql as reading
from planbound.journal.chain import verify
from planbound.journal.event import EventKind
from planbound.journal.record import GENESIS, Draft, Head, Journal, Query, Record
from planbound.testing.journal import MemoryJournal
from tests.journal.child import OpenJournal, Place, draft

STARTED, COMPLETED, VERIFIED = (
    EventKind.TASK_STARTED,
    EventKind.TASK_COMPLETED,
    EventKind.PLAN_VERIFIED,
)


def head_of(record: Record) -> Head:
    return Head(record.seq, record.hash)


def found(journal: Journal, **query: object) -> list[int]:
    return [record.seq for record in journal.read(Query(**query))]  # type: ignore[arg-type] # kept short


# -- appending ---------------------------------------------------------------------------------


def test_a_new_journal_is_empty(journal: OpenJournal) -> None:
    assert journal.head() == GENESIS
    assert list(journal.read(Query())) == []
    assert list(journal.read(Query(since="2026", last=3, task="1"))) == []
    assert list(journal.append([])) == []


def test_what_was_appended_is_read_back_as_it_was(journal: OpenJournal) -> None:
    drafts = [
        draft("a", plan="", task=None, event=VERIFIED, errors=0, text="quotes \" ' ? %s é 🙂 \0"),
        draft("b")._replace(task_name="naïve ? 🙂", redactions=3),
        draft("c", nested={"list": [1, 2.5, None, True, "x"], "large": 2**70}),
    ]
    written = journal.append(drafts)
    assert [record.draft for record in written] == drafts
    assert list(journal.read(Query())) == list(written)
    assert [record.draft.details.json() for record in journal.read(Query())] == [
        draft.details.json() for draft in drafts
    ]


def test_records_are_numbered_over_the_project_and_within_their_plan(journal: OpenJournal) -> None:
    for number, plan in enumerate(["a", "b", "a", "", "a", "b"]):
        journal.append([draft(str(number), plan=plan)])
    journal.append([draft("6", plan="b"), draft("7", plan="c"), draft("8", plan="b")])
    records = list(journal.read(Query()))
    assert [record.seq for record in records] == list(range(1, 10))
    assert [record.plan_seq for record in records] == [1, 1, 2, 1, 3, 2, 3, 1, 4]
    assert journal.head() == head_of(records[-1])
    assert list(verify(records)) == []


def test_what_was_before_an_event_is_read_page_by_page(journal: OpenJournal) -> None:
    for number, plan in enumerate("abcabcabc"):
        journal.append([draft(str(number), plan=plan)])
    assert found(journal, before=4) == [1, 2, 3]
    assert found(journal, before=100, last=2) == [8, 9]
    assert found(journal, before=8, last=3) == [5, 6, 7]
    assert found(journal, before=7, last=2, plan="a") == [1, 4]
    assert found(journal, before=8, after=5) == [6, 7]
    assert found(journal, before=1) == found(journal, before=0) == found(journal, before=-5) == []


def test_appending_again_changes_nothing(journal: OpenJournal) -> None:
    (first,) = journal.append([draft("a")])
    (again,) = journal.append([draft("a", at=60)])
    assert again == first
    assert found(journal) == [1]
    both = journal.append([draft("a"), draft("b"), draft("b"), draft("a")])
    assert [record.seq for record in both] == [1, 2, 2, 1]
    assert found(journal) == [1, 2]


def test_an_old_event_is_known_again_however_long_ago_it_was(journal: OpenJournal) -> None:
    drafts = [draft(str(number), plan=f"p{number % 3}") for number in range(30)]
    written = [journal.append([each])[0] for each in drafts]
    assert [journal.append([each])[0] for each in drafts] == written
    assert found(journal) == list(range(1, 31))
    assert list(verify(journal.read(Query()))) == []


def test_another_writer_is_noticed(place: Place) -> None:
    first, second = place.open(), place.open()
    for number in range(40):
        journal = first if number % 3 else second
        journal.append([draft(f"{number}", plan=f"p{number % 4}"), draft("once")])
    assert first.head().seq == second.head().seq == 41
    assert list(verify(first.read(Query()))) == []
    first.close()
    second.close()


def test_several_events_are_appended_all_or_not_at_all(journal: OpenJournal) -> None:
    journal.append([draft("a")])
    before = journal.head()
    with pytest.raises(JournalProblem):
        journal.append([draft("b"), draft("c")._replace(timestamp="yesterday")])
    with pytest.raises(JournalProblem):
        journal.append([draft("b"), draft("c", ratio=float("nan"))])
    assert journal.head() == before
    journal.append([draft("b"), draft("c")])
    assert found(journal) == [1, 2, 3]
    assert list(verify(journal.read(Query()))) == []


@pytest.mark.parametrize("text", ["nul \0", "half a pair \ud800"])
def test_text_that_not_every_database_can_hold_is_refused(journal: OpenJournal, text: str) -> None:
    for bad in (draft("a", task=text), draft("a")._replace(task_name=text), draft(text)):
        with pytest.raises(JournalProblem):
            journal.append([bad])
    assert journal.head() == GENESIS


def test_what_a_writer_expects_must_be_the_head(journal: OpenJournal) -> None:
    journal.append([draft("a")], expected=GENESIS)
    seen = journal.head()
    journal.append([draft("b")], expected=seen)
    with pytest.raises(Stale) as caught:
        journal.append([draft("c"), draft("d")], expected=seen)
    assert "went on" in caught.value.message
    assert found(journal) == [1, 2]
    journal.append([draft("c")], expected=journal.head())
    assert found(journal) == [1, 2, 3]


def test_an_expected_head_with_another_hash_is_stale(journal: OpenJournal) -> None:
    journal.append([draft("a")])
    with pytest.raises(Stale):
        journal.append([draft("b")], expected=Head(1, "f" * 64))


def test_a_writer_that_repeats_itself_is_not_stale(journal: OpenJournal) -> None:
    journal.append([draft("a")], expected=GENESIS)
    journal.append([draft("b")])
    (again,) = journal.append([draft("a")], expected=GENESIS)
    assert again.seq == 1
    with pytest.raises(Stale):
        journal.append([draft("a"), draft("new")], expected=GENESIS)


# -- asking ------------------------------------------------------------------------------------


EVENTS: list[Draft] = [
    draft("1", at=0, plan="a", task=None, event=VERIFIED, errors=0),
    draft("2", at=10, plan="a", task="s1", attempt=1, number=1),
    draft("3", at=20, plan="b", task="s1", attempt=1, number=7),
    draft("4", at=30, plan="a", task="s1", event=COMPLETED, result="proved", number=1),
    draft("5", at=25, plan="a", task="s2", attempt=1, number=2),  # the clock went back
    draft("6", at=40, plan="b", task="7", event=COMPLETED, result="proved"),
    draft("7", at=50, plan="b", task="7", event=COMPLETED, result="proved", number=7),
    draft("8", at=60, plan="", task=None, event=VERIFIED, errors=1),
    draft("9", at=15, plan="a", task="s2", event=COMPLETED, result="proved", number="2"),
]

QUESTIONS: list[tuple[dict[str, object], list[int]]] = [
    ({}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ({"plan": "a"}, [1, 2, 4, 5, 9]),
    ({"plan": ""}, [8]),
    ({"plan": "nobody's"}, []),
    ({"task": "s1"}, [2, 3, 4]),
    ({"task": "7"}, [3, 6, 7]),
    ({"task": "2"}, [5, 9]),
    ({"task": "7", "last": 2}, [6, 7]),
    ({"plan": "a", "task": "s1"}, [2, 4]),
    ({"plan": "b", "task": "7", "events": (STARTED,)}, [3]),
    ({"events": (VERIFIED,)}, [1, 8]),
    ({"events": (VERIFIED, COMPLETED)}, [1, 4, 6, 7, 8, 9]),
    ({"events": (VERIFIED, COMPLETED, VERIFIED), "last": 3}, [7, 8, 9]),
    ({"events": (EventKind.WAIVED,)}, []),
    ({"plan": "a", "events": (STARTED,)}, [2, 5]),
    ({"since": draft("", at=25).timestamp}, [4, 5, 6, 7, 8]),
    ({"until": draft("", at=20).timestamp}, [1, 2, 3, 9]),
    ({"since": draft("", at=15).timestamp, "until": draft("", at=25).timestamp}, [3, 5, 9]),
    ({"since": draft("", at=61).timestamp}, []),
    ({"until": "2026-11-15T08:59:59.000000Z"}, []),
    ({"since": draft("", at=20).timestamp, "plan": "a"}, [4, 5]),
    ({"until": draft("", at=30).timestamp, "last": 2}, [5, 9]),
    ({"since": draft("", at=10).timestamp, "events": (COMPLETED,), "last": 2}, [7, 9]),
    ({"last": 2}, [8, 9]),
    ({"last": 100}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ({"last": 0}, []),
    ({"last": -1}, []),
    ({"plan": "b", "last": 1}, [7]),
    ({"after": 7}, [8, 9]),
    ({"after": 9}, []),
    ({"after": 1000}, []),
    ({"after": 4, "plan": "a"}, [5, 9]),
    ({"after": 3, "events": (COMPLETED, STARTED), "last": 3}, [6, 7, 9]),
]


def test_each_question_finds_its_records(
    journal: OpenJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in EVENTS:
        journal.append([each])
    for size in (1, 2, 1000):
        monkeypatch.setattr(reading, "PAGE", size)
        for question, expected in QUESTIONS:
            assert found(journal, **question) == expected, (size, question)


def test_reading_ends_where_the_journal_ended_when_it_began(
    journal: OpenJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PAGE", 2)
    journal.append([draft(str(number)) for number in range(5)])
    records = journal.read(Query())
    seen = [next(records).seq]
    journal.append([draft("more")])  # not held up by who reads
    seen += [record.seq for record in records]
    assert seen == [1, 2, 3, 4, 5]


# -- waiting -----------------------------------------------------------------------------------


def test_waiting_ends_when_the_time_is_up(journal: OpenJournal) -> None:
    assert journal.wait(0, 0) is False
    assert journal.wait(0, 0.05) is False
    journal.append([draft("a")])
    assert journal.wait(0, 0) is True
    assert journal.wait(0, 10) is True
    assert journal.wait(1, 0.05) is False


def test_waiting_ends_within_a_second_of_an_append_of_another_thread(journal: OpenJournal) -> None:
    done = []

    def append() -> None:
        journal.append([draft("a")])
        done.append(time.monotonic())

    timer = threading.Timer(0.2, append)
    timer.start()
    assert journal.wait(0, 30) is True
    woken = time.monotonic()
    timer.join()
    assert woken - done[0] < 1


@pytest.mark.thorough
def test_waiting_ends_within_a_second_of_an_append_of_another_process(place: Place) -> None:
    journal = place.open()
    with place.start("later") as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        assert journal.wait(0, 30) is True
        assert journal.wait(1, 0.3) is False
        child.stdin.write("\n")
        child.stdin.flush()
        assert journal.wait(1, 30) is True
        woken = time.time()
        assert woken - float(child.stdout.readline()) < 1
    journal.close()


def test_several_threads_may_wait(journal: OpenJournal) -> None:
    answers: list[bool] = []
    waiting = [
        threading.Thread(target=lambda: answers.append(journal.wait(0, 30))) for _ in range(3)
    ]
    for thread in waiting:
        thread.start()
    journal.append([draft("a")])
    for thread in waiting:
        thread.join(30)
    assert answers == [True, True, True]


# -- many writers ------------------------------------------------------------------------------


def check_race(journal: Journal, events: int) -> None:
    records = list(journal.read(Query()))
    assert [record.seq for record in records] == list(range(1, events + 1))
    assert len({record.draft.id for record in records}) == events
    assert list(verify(records)) == []
    plans = Counter(record.draft.plan for record in records)
    for plan, count in plans.items():
        numbers = [record.plan_seq for record in journal.read(Query(plan=plan))]
        assert numbers == list(range(1, count + 1))


def test_eight_threads_lose_nothing() -> None:
    journal = MemoryJournal()

    def work(name: int) -> None:
        for number in range(1250):
            journal.append([draft(f"{name}-{number}", plan=f"plan-{number % 5}")])

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_race(journal, 10_000)


def run_race(place: Place, *, at_once: int) -> None:
    with (
        place.start("race", "a", 4, 1250, at_once) as one,
        place.start("race", "b", 4, 1250, at_once) as two,
    ):
        for child in (one, two):
            assert (*child.communicate(timeout=300), child.returncode) == ("", "", 0)
    journal = place.open()
    check_race(journal, 10_000)
    journal.close()


@pytest.mark.thorough
def test_two_processes_of_four_threads_lose_nothing_in_sqlite(fast_folder: Path) -> None:
    run_race(Place("sqlite", str(fast_folder / "journal.db")), at_once=1)


def test_two_processes_of_four_threads_lose_nothing_in_postgres(postgres_place: Place) -> None:
    # Five events at a time: a transaction in PostgreSQL takes a client a millisecond.
    run_race(postgres_place, at_once=5)


# -- nothing is changed ------------------------------------------------------------------------


CHANGES = [
    "UPDATE journal SET event = 'TASK_SKIPPED'",
    "UPDATE journal SET details = '{}' WHERE seq = 1",
    "DELETE FROM journal WHERE seq = 2",
    "DELETE FROM journal",
    "INSERT INTO journal SELECT * FROM journal WHERE seq = 1",
]
IN_SQLITE = [
    "INSERT OR REPLACE INTO journal SELECT * FROM journal WHERE seq = 1",
    "REPLACE INTO journal SELECT * FROM journal WHERE seq = 2",
    "UPDATE OR REPLACE journal SET seq = 1 WHERE seq = 2",
]
IN_POSTGRES = [
    "TRUNCATE journal",
    "INSERT INTO journal SELECT * FROM journal ON CONFLICT (seq) DO UPDATE SET event = 'WAIVED'",
]


def test_sqlite_refuses_every_change(sqlite_place: Place) -> None:
    journal = sqlite_place.open()
    journal.append([draft("a"), draft("b")])
    raw = sqlite3.connect(sqlite_place.address)
    for change in [*CHANGES, *IN_SQLITE]:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute(change)
        raw.rollback()
    raw.close()
    assert found(journal) == [1, 2]
    assert list(verify(journal.read(Query()))) == []
    journal.close()


def test_postgres_refuses_every_change(postgres_place: Place) -> None:
    journal = postgres_place.open()
    journal.append([draft("a"), draft("b")])
    options = f"-c search_path={postgres_place.schema}"
    with psycopg.connect(postgres_place.address, options=options) as raw:
        for change in [*CHANGES, *IN_POSTGRES]:
            with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
                raw.execute(change.encode())
            raw.rollback()
    assert found(journal) == [1, 2]
    assert list(verify(journal.read(Query()))) == []
    journal.close()
