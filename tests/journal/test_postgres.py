"""What only the journal in PostgreSQL has: a server that may be gone, and a password."""

from __future__ import annotations

import multiprocessing
import traceback
from contextlib import closing

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.errors import JournalProblem
from planbound.journal.chain import verify
from planbound.journal.postgres import PostgresJournal
from planbound.journal.record import Query, Record, compose, compose_parts
from planbound.journal.repository import RepositoryName
from tests.journal.child import Place, draft

SECRET = "tr0ub4dor&3"
HERE = RepositoryName("here", "here")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:tr0ub4dor%263@127.0.0.1:1/plans",
        "postgresql://me:tr0ub4dor%263@no-such-host.invalid/plans",
        "postgresql://me:tr0ub4dor%263@127.0.0.1:1/plans?no_such_option=1",
        "postgresql://me:tr0ub4dor%263@127.0.0.1:port/plans",
        "postgresql://me:tr0ub4dor%263@[::1/plans",
        "host=127.0.0.1 port=1 user=me password=tr0ub4dor&3 dbname=plans",
        "host=127.0.0.1 port=1 password=tr0ub4dor&3 nonsense",
    ],
)
def test_a_server_that_is_not_there_is_told_without_the_password(url: str) -> None:
    with pytest.raises(JournalProblem) as caught:
        PostgresJournal(url, HERE).head()
    told = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
    assert SECRET not in told
    assert "tr0ub4dor" not in told


def test_a_refused_password_is_not_told(postgres_place: Place) -> None:
    address = postgres_place.address.replace("postgres:@", f"nobody:{SECRET}@")
    address = address.replace("postgres@", f"nobody:{SECRET}@")
    assert SECRET in address
    with pytest.raises(JournalProblem, match="nobody") as caught:
        PostgresJournal(address, HERE).head()
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.requirement("receipt.journal")
def test_the_hashes_of_all_records_are_read_at_once(postgres_place: Place) -> None:
    journal = postgres_place.open()
    journal.append([draft(name) for name in "abcd"])
    known = [record.hash for record in journal.read(Query())]
    assert isinstance(journal, PostgresJournal)
    assert [each.hex() for each in journal.hashes(4)] == known
    with pytest.raises(JournalProblem, match="has 4 records up to number 5"):
        journal.hashes(5)
    journal.close()


def test_projects_in_one_database_do_not_mix(postgres_place: Place) -> None:
    one = Place("postgres", postgres_place.address, f"{postgres_place.name}/1").open()
    two = Place("postgres", postgres_place.address, f"{postgres_place.name}/2").open()
    one.append([draft("a"), draft("b")])
    two.append([draft("a")])
    assert (one.head().seq, two.head().seq) == (2, 1)
    assert two.wait(1, 0.1) is False
    one.close()
    two.close()


def test_a_lost_connection_is_told_and_made_again(postgres_place: Place) -> None:
    journal = postgres_place.open()
    journal.append([draft("a")])
    assert journal.wait(1, 0.05) is False
    with psycopg.connect(postgres_place.address) as raw:
        raw.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'planbound' AND pid <> pg_backend_pid()"
        )
    for use in (journal.head, lambda: journal.append([draft("b")])):
        with pytest.raises(JournalProblem, match="cannot be used"):
            use()
    with pytest.raises(JournalProblem):
        journal.wait(1, 5)
    journal.append([draft("b")])
    assert journal.head().seq == 2
    assert journal.wait(2, 0.05) is False
    journal.close()


def test_what_was_there_already_stays_where_it_is_among_what_is_new(
    postgres_place: Place,
) -> None:
    with closing(postgres_place.open()) as journal:
        (first,) = journal.append([draft("a", at=5)])
        records = journal.append([draft("b"), draft("a", at=9), draft("c", plan="p"), draft("b")])
        assert [record.seq for record in records] == [2, 1, 3, 2]
        assert records[1] == first
        assert list(journal.read(Query())) == [first, records[0], records[2]]
        assert list(verify(journal.read(Query()))) == []


def test_an_append_that_fails_halfway_leaves_nothing(postgres_place: Place) -> None:
    with closing(postgres_place.open()) as journal:
        journal.append([draft("a")])
        with psycopg.connect(postgres_place.address) as raw:
            raw.execute(
                f"ALTER TABLE {postgres_place.schema}.journal"
                " ADD CONSTRAINT short CHECK (length(id) < 10)".encode()
            )
        for _ in range(2):
            with pytest.raises(JournalProblem, match="short"):
                journal.append([draft("b"), draft("c"), draft("much too long"), draft("d")])
            assert journal.head().seq == 1
        with closing(postgres_place.open()) as another:  # the lock went with the rest
            another.append([draft("b")])
        journal.append([draft("c")])
        assert list(verify(journal.read(Query()))) == []
        assert journal.head().seq == 3


def test_who_only_appends_has_one_connection(postgres_place: Place) -> None:
    with closing(postgres_place.open()) as journal, psycopg.connect(postgres_place.address) as raw:
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'planbound'"
        before = raw.execute(count).fetchone()
        journal.append([draft("a")])
        journal.append([draft("b")])
        raw.commit()
        after = raw.execute(count).fetchone()
        assert before is not None
        assert after == (before[0] + 1,)


@given(text=st.text(), name=st.text(), task=st.none() | st.text(), number=st.integers(0, 1 << 40))
def test_the_pieces_of_a_canonical_form_are_the_form(
    text: str, name: str, task: str | None, number: int
) -> None:
    new = draft(name, plan=text, task=task, text=text)
    parts = compose_parts(new, 3)
    whole = (
        f"{parts.head}{new.details.text}{parts.plan_seq}{number}{parts.prev}{'ab' * 32}"
        f"{parts.seq}{number + 1}{parts.end}"
    )
    assert whole == compose(Record(number + 1, number, new, 3, "ab" * 32, ""))


def test_commits_are_synced_where_the_server_would_not(postgres_place: Place) -> None:
    url = postgres_place.address
    url += ("&" if "?" in url else "?") + "options=-csynchronous_commit%3Doff"
    journal = PostgresJournal(url, HERE)
    with journal._here().writer.enter() as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    journal.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_connects_by_itself(postgres_place: Place) -> None:
    journal = postgres_place.open()
    journal.append([draft("parent")])
    context = multiprocessing.get_context("fork")
    child = context.Process(target=journal.append, args=([draft("child")],))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    journal.append([draft("parent again")])
    assert [record.draft.id for record in journal.read(Query())] == [
        "parent",
        "child",
        "parent again",
    ]
    journal.close()
