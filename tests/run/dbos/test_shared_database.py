"""Several repositories in one database, and workers who may not change what is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from planbound.errors import ConfigurationError
from planbound.journal.postgres import PostgresJournal
from planbound.workspace.configuration_file import read_configuration
from tests.run.bench import Bench, Step, until
from tests.run.dbos.databases import kept_by_dbos, new_database, new_role
from tests.run.dbos.fleet import Fleet

SECRET = "tr0ub4dor-and-3"


@pytest.fixture
def database(postgres: str) -> str:
    return new_database(postgres)


@pytest.fixture
def role(database: str) -> Iterator[str]:
    """A name of a role that the server has not, and what it owns no more when the test is over."""
    with new_role(database, "Worker ") as name:
        yield name


@pytest.fixture
def fleets(tmp_path: Path, database: str) -> Iterator[tuple[Fleet, Fleet]]:
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        found.append(Fleet(tmp_path / name, address=database))
    one, two = found
    yield one, two
    one.journal.close()
    two.journal.close()


def grant(fleet: Fleet, role: str) -> str:
    """Apply what `planbound fleet grants` prints; return the address with which the role comes."""
    text = fleet.goes("fleet", "grants", "--role", role).out
    address = fleet.extra["PLANBOUND_DATABASE_URL"]
    with psycopg.connect(address, autocommit=True) as raw:
        for _ in range(2):  # to apply it twice does no harm
            raw.execute(text.encode())
    return make_conninfo(address, user=role)


@pytest.mark.requirement("fleet.repositories")
def test_plans_of_one_name_in_two_repositories_are_two_plans(fleets: tuple[Fleet, Fleet]) -> None:
    one, two = fleets
    one.submit("hello", 2)
    two.submit("hello", 1)
    assert len(two.log().of("GATE_APPROVED")) == 1
    said = one.goes("worker", "--once").out
    assert "[Task 2/2]" in said
    assert one.status("hello")["status"] == "done"
    assert two.status("hello")["status"] == "approved"
    assert two.calls() == []
    two.goes("worker", "--once")
    one.check(2)
    two.check(1)
    assert one.goes("list", "--json").json[0]["status"] == "done"
    one.goes("worker", "--once", code=3)
    assert kept_by_dbos(one) == []


def test_a_lease_in_one_repository_is_in_nobodys_way_in_another(
    fleets: tuple[Fleet, Fleet],
) -> None:
    one, two = fleets
    one.submit("slow")
    two.submit("slow")
    (two.folder / "go").touch()
    with one.worker():
        while not one.calls():
            one._works(0.05)
        two.goes("worker", "--once")
        assert [each["plan"] for each in two.goes("claims", "--json").json["claims"]] == []
        assert [each["plan"] for each in one.goes("claims", "--json").json["claims"]] == ["slow"]
        (one.folder / "go").touch()
        while not one.is_over():
            one._works(0.05)
    one.check(1)
    two.check(1)


@pytest.mark.requirement("fleet.repositories")
def test_a_plan_named_as_the_end_of_another_repository_ends_no_run_there(
    fleets: tuple[Fleet, Fleet],
) -> None:
    one, two = fleets
    for fleet, name in ((one, "acme"), (two, "acme/billing")):
        settings = (fleet.workspace / "planbound.toml").read_text()
        fleet.write("planbound.toml", f'{settings}[fleet]\nrepository = "{name}"\n')
    one.submit("billing")
    two.submit("slow")
    with two.worker("--once") as worker:
        until(lambda: bool(two.calls()), what=two.said)
        before = {each for each in kept_by_dbos(two) if each.startswith("run/acme:billing/slow/")}
        assert before
        one.goes("worker", "--once")
        assert before <= set(kept_by_dbos(two))
        (two.folder / "go").touch()
        worker.wait(timeout=120)
    assert one.status("billing")["status"] == two.status("slow")["status"] == "done"
    assert one.calls() == [("billing-1", 1)]
    assert two.calls() == [("slow-1", 1)]
    assert kept_by_dbos(one) == []


@pytest.mark.parametrize("name", ["acme:billing", "acme/billing:", ":"])
def test_no_name_holds_what_stands_for_a_slash_in_the_queue(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"`fleet\.repository` is"):
        read_configuration({"fleet": {"repository": name}}, path="planbound.toml")


@pytest.mark.requirement("fleet.grants")
def test_a_worker_runs_plans_as_a_role_that_changes_no_event(
    fleets: tuple[Fleet, Fleet], role: str
) -> None:
    owner, _ = fleets
    owner.submit("hello", 2)
    owner.submit("wrong")
    address = grant(owner, role)
    assert owner.run("worker", "--once", PLANBOUND_DATABASE_URL=address).code == 4
    question = owner.question("wrong")["id"]
    owner.goes(
        "answer",
        question,
        "retry",
        "--as",
        "tester",
        "--guidance",
        "be right",
        PLANBOUND_DATABASE_URL=address,
    )
    owner.goes("worker", "--once", PLANBOUND_DATABASE_URL=address)
    assert {each["status"] for each in owner.log().of("EXECUTION_COMPLETE")} == {"done"}
    owner.goes("submit", owner.add("later"), PLANBOUND_DATABASE_URL=address)
    owner.goes("worker", "--once", PLANBOUND_DATABASE_URL=address)
    assert owner.ended() == {"hello": 1, "wrong": 1, "later": 1}
    assert owner.verifies()
    refuse_changes(address, owner)


def refuse_changes(address: str, owner: Fleet) -> None:
    """Try as the role what an attacker would."""
    assert isinstance(owner.journal, PostgresJournal)
    schema = owner.journal.schema
    changes = (
        f"UPDATE {schema}.journal SET details = '{{}}'",
        f"DELETE FROM {schema}.journal",
        f"TRUNCATE {schema}.journal",
        f"DROP TABLE {schema}.journal",
        f"ALTER TABLE {schema}.journal DISABLE TRIGGER ALL",
        f"DROP TRIGGER journal_is_not_changed ON {schema}.journal",
        f"ALTER FUNCTION {schema}.check_place() OWNER TO CURRENT_USER",
        f"ALTER FUNCTION {schema}.check_place() RESET ALL",
        "SET session_replication_role = replica",
        f"CREATE TABLE {schema}.mine (x integer)",
        f"DELETE FROM {schema}.lease",
        f"INSERT INTO {schema}.migration VALUES (999, 'x')",
        f"DELETE FROM {schema}.migration",
        "INSERT INTO planbound.repository (name, schema) VALUES ('x', 'y')",
        "DELETE FROM planbound.repository",
        f"ALTER SCHEMA {schema} RENAME TO mine",
    )
    with psycopg.connect(address, autocommit=True) as raw:
        for change in changes:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                raw.execute(change.encode())
        with pytest.raises(psycopg.errors.RestrictViolation):
            # Events go to the end of the chain, also those that it may append.
            raw.execute(
                f"INSERT INTO {schema}.journal SELECT * FROM {schema}.journal LIMIT 1".encode()
            )


@pytest.mark.requirement("fleet.grants")
def test_a_role_of_one_repository_has_no_rights_in_another(
    fleets: tuple[Fleet, Fleet], role: str
) -> None:
    one, two = fleets
    one.add("hello")
    two.add("hello")
    address = grant(one, role)
    one.goes("log", PLANBOUND_DATABASE_URL=address)
    refused = two.goes("log", code=2, PLANBOUND_DATABASE_URL=address)
    assert "permission denied" in refused.err
    assert f"`planbound fleet grants --role '{role}'`" in refused.err
    assert isinstance(two.journal, PostgresJournal)
    look = f"SELECT FROM {two.journal.schema}.journal".encode()
    with psycopg.connect(address) as raw, pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw.execute(look)


@pytest.mark.requirement("fleet.grants")
def test_before_there_is_a_queue_the_rights_leave_it_out_and_say_so(
    fleets: tuple[Fleet, Fleet], role: str
) -> None:
    fleet, _ = fleets
    fleet.add("hello")
    said = fleet.goes("fleet", "grants")
    assert 'CREATE ROLE "planbound_worker" LOGIN' in said.out
    assert "note: the queue has no tables yet" in said.err
    address = grant(fleet, role)
    fleet.goes("run", "hello", PLANBOUND_DATABASE_URL=address, code=2)
    inline = (fleet.workspace / "planbound.toml").read_text().replace('"dbos"', '"inline"')
    fleet.write("planbound.toml", inline)
    fleet.goes("run", "hello", PLANBOUND_DATABASE_URL=address)
    assert fleet.status("hello")["status"] == "done"


@pytest.mark.requirement("fleet.database-secret")
def test_the_address_of_the_database_reaches_no_cell_and_no_event(
    tmp_path: Path, database: str
) -> None:
    bench = Bench(tmp_path)
    bench.extra["PLANBOUND_DATABASE_URL"] = make_conninfo(database, password=SECRET)
    look = "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline"
    (tmp_path / "known").write_text(bench.extra["PLANBOUND_DATABASE_URL"])
    spy = f"({look}) > src/a 2>&1; cat {tmp_path}/known"
    contract = f"({look}) 2>&1 | tee seen | grep -c PLANBOUND_DATABASE; test -s src/a"
    bench.prepare(Step("Spy", work=spy, contract=contract, touches="src/**"))
    bench.run("run")
    bench.log().one("ATTEMPT_ENDED")
    assert "PLANBOUND_ATTEMPT" in bench.read("src/a")
    assert "DATABASE" not in bench.read("src/a")
    assert SECRET not in bench.read("src/a")
    with psycopg.connect(database) as raw:
        place = raw.execute("SELECT schema FROM planbound.repository").fetchone()
        assert place is not None
        rows = raw.execute(f"SELECT journal::text FROM {place[0]}.journal AS journal".encode())
        assert not [text for (text,) in rows if SECRET in text]
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()]


@pytest.mark.requirement("fleet.database-gone")
def test_a_run_whose_database_goes_and_comes_back_pays_nobody_twice(
    fleets: tuple[Fleet, Fleet], database: str
) -> None:
    fleet, _ = fleets
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    fleet.submit("slow", 2)
    server = make_conninfo(database, dbname="postgres")
    with psycopg.connect(server, autocommit=True) as raw, fleet.worker("--once") as worker:
        until(lambda: bool(fleet.calls()))
        raw.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        raw.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        (fleet.folder / "go").touch()
        said = fleet.goes("status", "slow", code=2).err
        raw.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        worker.wait(timeout=120)
    assert str(name) in said
    assert "nothing is recorded twice" in said
    assert "Traceback" not in fleet.said()
    if not fleet.is_over():
        fleet.goes("worker", "--once")
    fleet.check(2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("grants", "--role", ""), "`--role` is ''"),
        (("grants", "--role", "a" * 64), "expected a name of 1 to 63 bytes"),
        (("grants", "--role", "a\nb"), "`--role` is 'a\\nb'"),
        (("grants", "--role", "a$make$b"), "without `$`"),
        (("grants", "--json"), "prints SQL"),
        (("--role", "me"), "`--role` is for `planbound fleet grants`"),
        (("grants",), "`PLANBOUND_DATABASE_URL`"),
    ],
)
def test_grants_that_cannot_be_printed_are_refused(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    fleet = Fleet(tmp_path, address=None)
    with closing(fleet.journal):
        fleet.lay(Step("Make a"))
        assert said in fleet.goes("fleet", *words, code=2).err
