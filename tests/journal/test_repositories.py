"""Many repositories in one database of PostgreSQL: none sees what another one has."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from planbound.errors import JournalProblem
from planbound.journal import postgres_database
from planbound.journal.chain import link, verify
from planbound.journal.event import EventKind
from planbound.journal.postgres import PostgresJournal
from planbound.journal.postgres_grants import Grants
from planbound.journal.record import GENESIS, Draft, Head, Query, Record
from planbound.journal.repository import RepositoryName, approved_in, schema_name
from planbound.journal.sql import Migration, migrations, pending, to_row
from tests.journal.child import claim, draft
from tests.journal.test_migrations import POSTGRES, insert
from tests.run.dbos.databases import new_database, new_role

ONE, TWO = RepositoryName("one-111", "one-111"), RepositoryName("two-222", "two-222")


@pytest.fixture
def database(postgres: str) -> str:
    return new_database(postgres)


def approval(name: str, project: str | None) -> Draft:
    return draft(name, event=EventKind.GATE_APPROVED, task=None, project=project, actor="anna")


def chained(drafts: Sequence[Draft]) -> list[Record]:
    records: list[Record] = []
    head = GENESIS
    for number, new in enumerate(drafts, 1):
        records.append(link(new, head, number, 1))
        head = Head(number, records[-1].hash)
    return records


def make_the_only_one(database: str, schema: int, drafts: Sequence[Draft]) -> None:
    """Make a database as a version left it for which it had one repository."""
    with psycopg.connect(database) as raw:
        raw.execute("CREATE SCHEMA planbound")
        raw.execute("SET LOCAL search_path TO planbound")
        for migration in POSTGRES[:schema]:
            raw.execute(migration.script.encode())
            raw.execute("INSERT INTO migration (number, name) VALUES (%s, %s)", migration[:2])
        raw.cursor().executemany(insert("%s").encode(), map(to_row, chained(drafts)))


def database_name(database: str) -> str:
    return str(conninfo_to_dict(database)["dbname"])


def ids(database: str, repository: RepositoryName) -> list[str]:
    with closing(PostgresJournal(database, repository)) as journal:
        return [record.draft.id for record in journal.read(Query())]


def name_of(database: str, repository: RepositoryName) -> str:
    with closing(PostgresJournal(database, repository)) as journal:
        return journal.name


def append(database: str, repository: RepositoryName, *names: str) -> None:
    with closing(PostgresJournal(database, repository)) as journal:
        journal.append([draft(name) for name in names])


@pytest.mark.requirement("fleet.repositories")
def test_two_repositories_with_plans_of_one_name_do_not_see_each_other(database: str) -> None:
    one, two = PostgresJournal(database, ONE), PostgresJournal(database, TWO)
    one.append([draft("a"), draft("b")])
    two.append([draft("a")])
    assert (one.head().seq, two.head().seq) == (2, 1)
    assert [record.plan_seq for record in two.read(Query(plan="round"))] == [1]
    first = one.leases().acquire(claim(), seconds=600)
    assert two.leases().held() == []
    second = two.leases().acquire(claim("process 2 on `box`"), seconds=600)
    assert (first.number, second.number) == (1, 1)
    one.append([draft("c")], held_lease=first)
    assert two.wait(1, 0.05) is False
    for journal in (one, two):
        assert list(verify(journal.read(Query()))) == []
        journal.close()


def test_who_appends_to_one_does_not_wait_for_the_other(database: str) -> None:
    one, two = PostgresJournal(database, ONE), PostgresJournal(database, TWO)
    one.append([draft("a")])
    with psycopg.connect(database) as raw:
        lock = "SELECT pg_advisory_xact_lock(%s, hashtext(%s))"
        raw.execute(lock, (postgres_database._LOCK, one.schema))
        two.append([draft("b")])
    assert two.head().seq == 1
    one.close()
    two.close()


@pytest.mark.requirement("fleet.repositories-forward")
@pytest.mark.parametrize("schema", range(1, len(POSTGRES) + 1))
def test_a_database_of_one_repository_stays_the_journal_of_that_one(
    database: str, schema: int
) -> None:
    make_the_only_one(database, schema, [draft("a"), approval("b", ONE.project)])
    # The other one comes first, and takes nothing.
    assert ids(database, TWO) == []
    assert ids(database, ONE) == ["a", "b"]
    journal = PostgresJournal(database, ONE)
    held_lease = journal.leases().acquire(claim(), seconds=600)
    journal.append([draft("c"), draft("d")], held_lease=held_lease)
    assert list(verify(journal.read(Query()))) == []
    with psycopg.connect(database) as raw, pytest.raises(psycopg.errors.RestrictViolation):
        raw.execute(f"DELETE FROM {journal.schema}.journal".encode())
    assert journal.wait(4, 0.05) is False
    append(database, TWO, "a")
    assert ids(database, ONE) == ["a", "b", "c", "d"]
    journal.close()


@pytest.mark.requirement("fleet.repositories-forward")
def test_an_older_version_refuses_a_database_that_was_brought_forward(database: str) -> None:
    make_the_only_one(database, len(POSTGRES), [approval("a", ONE.project)])
    assert ids(database, ONE) == ["a"]
    with psycopg.connect(database) as raw:
        rows = raw.execute("SELECT number FROM planbound.migration").fetchall()
    with pytest.raises(JournalProblem, match="was made by a newer version"):
        pending([number for (number,) in rows], POSTGRES, where="it")


def test_repositories_that_shared_a_journal_go_on_sharing_it(database: str) -> None:
    make_the_only_one(
        database, 3, [approval("a", ONE.project), approval("b", TWO.project), approval("c", None)]
    )
    assert ids(database, RepositoryName("third", "third")) == []
    assert ids(database, ONE) == ids(database, TWO) == ["a", "b", "c"]
    assert name_of(database, ONE) == name_of(database, TWO) == TWO.name


def test_a_journal_without_approvals_is_that_of_the_first_who_comes(database: str) -> None:
    make_the_only_one(database, 3, [draft("a")])
    assert ids(database, ONE) == ["a"]
    assert ids(database, TWO) == []


@pytest.mark.requirement("fleet.repositories-forward")
def test_older_versions_know_no_step_of_a_database_of_many() -> None:
    numbers = [step.number for step in migrations("catalogue")]
    for known in range(1, len(POSTGRES) + 1):
        with pytest.raises(JournalProblem, match=f"knows schema {known}, not 100"):
            pending(numbers, POSTGRES[:known], where="it")


def test_details_that_cannot_be_read_say_nothing_of_whose_a_journal_is() -> None:
    texts = [
        "",
        "[1]",
        '{"project": 3}',
        '{"project": "a"}',
        '{"project": "b"}',
        '{"project": "a"}',
    ]
    assert approved_in(texts) == ["b", "a"]


@pytest.mark.requirement("fleet.repositories-forward")
def test_several_processes_may_bring_a_database_forward_at_once(database: str) -> None:
    make_the_only_one(database, 1, [approval("a", ONE.project)])
    journals = [PostgresJournal(database, (ONE, TWO)[number % 2]) for number in range(8)]
    problems: list[Exception] = []

    def append_one(number: int) -> None:
        try:
            journals[number].append([draft(f"{number}")])
        except JournalProblem as problem:
            problems.append(problem)

    threads = [threading.Thread(target=append_one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for journal in journals:
        journal.close()
    assert problems == []
    assert sorted(ids(database, ONE)) == ["0", "2", "4", "6", "a"]
    assert sorted(ids(database, TWO)) == ["1", "3", "5", "7"]


@pytest.mark.requirement("fleet.repositories-forward")
@pytest.mark.parametrize("place", ["planbound", schema_name(ONE.name)])
def test_a_database_of_a_newer_version_is_refused_and_left_alone(database: str, place: str) -> None:
    assert ids(database, ONE) == []
    with psycopg.connect(database) as raw:
        raw.execute(f"INSERT INTO {place}.migration VALUES (999, 'later')".encode())
    refused = "was made by a newer version: this one knows schema .*, not 999"
    with pytest.raises(JournalProblem, match=refused) as caught:
        append(database, ONE, "a")
    assert caught.value.hint is not None
    assert "newest version" in caught.value.hint
    with psycopg.connect(database) as raw:
        assert raw.execute(f"SELECT FROM {schema_name(ONE.name)}.journal".encode()).rowcount == 0


def test_the_only_journal_of_a_newer_version_is_not_moved(database: str) -> None:
    make_the_only_one(database, 3, [approval("a", ONE.project)])
    with psycopg.connect(database) as raw:
        raw.execute("INSERT INTO planbound.migration VALUES (99, 'later')")
    with pytest.raises(JournalProblem, match="newer version"):
        ids(database, ONE)
    with psycopg.connect(database) as raw:
        assert raw.execute("SELECT FROM planbound.journal").rowcount == 1


def test_a_step_that_fails_leaves_the_database_as_it_was(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_the_only_one(database, 3, [approval("a", ONE.project)])
    catalogue = migrations("catalogue")
    bad = Migration(101, "0101_bad", "ALTER TABLE no_such ADD COLUMN x integer;\n")
    steps = {"postgres": POSTGRES, "catalogue": (*catalogue, bad)}
    with monkeypatch.context() as patch:
        patch.setattr(postgres_database, "migrations", steps.__getitem__)
        with pytest.raises(JournalProblem, match="no_such"):
            ids(database, ONE)
    with psycopg.connect(database) as raw:
        assert raw.execute("SELECT FROM planbound.journal").rowcount == 1
    assert ids(database, ONE) == ["a"]


def test_a_catalogue_goes_forward_to_the_next_step(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(database, ONE, "a")
    following = Migration(101, "0101_next", "ALTER TABLE repository ADD COLUMN note text;\n")
    steps = {"postgres": POSTGRES, "catalogue": (*migrations("catalogue"), following)}
    with monkeypatch.context() as patch:
        patch.setattr(postgres_database, "migrations", steps.__getitem__)
        assert ids(database, ONE) == ["a"]
        assert ids(database, TWO) == []
    with pytest.raises(JournalProblem, match="newer version"):
        ids(database, ONE)


@pytest.mark.requirement("fleet.grants")
def test_grants_give_no_right_to_change_or_remove_an_event() -> None:
    lines = list(
        Grants('wo"rker', database="plans", schema="planbound_one", has_queue=True).lines()
    )
    on_events = [line for line in lines if "planbound_one.journal" in line]
    assert on_events == ['GRANT SELECT, INSERT ON planbound_one.journal TO "wo""rker";']
    everywhere = [line for line in lines if "ON ALL TABLES" in line and line.startswith("GRANT")]
    assert [line.partition(" IN SCHEMA ")[2] for line in everywhere] == [
        'planbound_dbos TO "wo""rker";'
    ]
    assert [line for line in lines if "CREATE" in line and "ROLE" not in line] == []
    assert (lines[2], lines[-1]) == ("BEGIN;", "COMMIT;")


@pytest.fixture
def worker(database: str) -> Iterator[str]:
    """A name for a role, which is gone when the test is over."""
    with new_role(database, "worker_") as name:
        yield name


@pytest.mark.requirement("fleet.grants")
@pytest.mark.parametrize("schema", range(3, len(POSTGRES) + 1))
def test_a_temporary_table_of_a_worker_does_not_stand_for_the_journal(
    database: str, worker: str, schema: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {"postgres": POSTGRES[:schema], "catalogue": migrations("catalogue")}
    with monkeypatch.context() as patch:
        patch.setattr(postgres_database, "migrations", steps.__getitem__)
        append(database, ONE, "a", "b")
    append(database, ONE, "c")
    place = schema_name(ONE.name)
    rights = Grants(worker, database_name(database), place, has_queue=False)
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("\n".join(rights.lines()).encode())
    values = to_row(chained([draft("false")])[0]._replace(seq=1001, plan_seq=901, prev="x" * 64))
    with psycopg.connect(make_conninfo(database, user=worker), autocommit=True) as raw:
        raw.execute(
            "CREATE TEMP TABLE journal"
            " (seq bigint, hash text, latest text, plan text, plan_seq bigint)"
        )
        raw.execute(
            "INSERT INTO pg_temp.journal VALUES (1000, repeat('x', 64), '', %s, 900)", ("round",)
        )
        raw.execute("GRANT ALL ON pg_temp.journal TO PUBLIC")
        with pytest.raises(psycopg.errors.RestrictViolation, match="a record goes to its end"):
            raw.execute(insert("%s").replace(" journal ", f" {place}.journal ").encode(), values)
    assert ids(database, ONE) == ["a", "b", "c"]


@pytest.mark.requirement("fleet.grants")
def test_every_function_of_a_journal_names_where_it_looks(database: str) -> None:
    make_the_only_one(database, 3, [approval("a", ONE.project)])
    append(database, ONE, "b")
    append(database, TWO, "a")
    with psycopg.connect(database) as raw:
        rows = raw.execute(
            "SELECT nspname, proname, proconfig FROM pg_proc JOIN pg_namespace AS place"
            " ON place.oid = pronamespace WHERE starts_with(nspname, 'planbound')"
        ).fetchall()
    assert len(rows) == 6
    for place, _, settings in rows:
        assert settings == [f"search_path={place}, pg_temp"]


def test_a_connection_looks_only_where_the_server_has_its_own(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as raw:
        raw.execute("CREATE TABLE public.pg_class (relname text, relnamespace oid)")
        name = database_name(database)
        raw.execute(f"ALTER DATABASE {name} SET search_path = public, pg_catalog".encode())
    append(database, ONE, "a")
    assert ids(database, ONE) == ["a"]


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.requirement("fleet.repositories")
def test_a_repository_that_gets_a_name_goes_on_with_its_journal(database: str) -> None:
    append(database, ONE, "a")
    here = RepositoryName("acme/billing", ONE.project)
    there = RepositoryName("acme/billing", "billing-at-another-path")
    assert ids(database, here) == ids(database, there) == ["a"]
    assert name_of(database, there) == ONE.name
    assert ids(database, ONE) == ["a"]


def test_a_name_hides_no_events_that_are_there_already(database: str) -> None:
    append(database, ONE, "a")
    append(database, RepositoryName("acme", TWO.project), "b")
    with pytest.raises(JournalProblem, match="`acme` is a journal of its own") as caught:
        ids(database, RepositoryName("acme", ONE.project))
    assert "`one-111`" in str(caught.value.hint)


def test_an_empty_journal_under_the_old_name_is_in_nobodys_way(database: str) -> None:
    assert ids(database, ONE) == []
    append(database, RepositoryName("acme", TWO.project), "b")
    assert ids(database, RepositoryName("acme", ONE.project)) == ["b"]


@pytest.mark.requirement("fleet.repositories")
@pytest.mark.parametrize("name", ["", "Ünïcode/näme", "a" * 300, "1", 'a"; DROP', "\udcff", "A-b"])
def test_a_schema_is_named_readably_and_fits(name: str) -> None:
    assert schema_name(name).isascii()
    assert schema_name(name).replace("_", "").isalnum()
    assert len(schema_name(name)) <= 48
    assert schema_name(name) != schema_name(f"{name} ")
