"""A database that cannot be used: what is told, and that nothing is half done."""

from __future__ import annotations

import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from planbound.errors import JournalProblem, PlanboundError
from planbound.journal.postgres import PostgresJournal
from planbound.journal.postgres_problem import cure
from planbound.journal.record import Query
from planbound.journal.redact import Redactor
from planbound.journal.repository import RepositoryName
from planbound.run.dbos import DbosDatabase
from tests.journal.child import Place, draft
from tests.needs import need
from tests.run.dbos.databases import new_database
from tests.tables import one_fact

HERE = RepositoryName("here", "here")
SECRET = "tr0ub4dor-and-3"


def told(work: Callable[[], object]) -> str:
    """Return what somebody is told for whom the database does not work."""
    with pytest.raises(PlanboundError) as caught:
        work()
    assert caught.value.hint is not None, caught.value
    return f"{caught.value.message}\nhint: {caught.value.hint}"


@pytest.fixture
def database(postgres: str) -> str:
    return new_database(postgres)


@pytest.mark.requirement("fleet.database-gone")
def test_a_server_that_takes_no_writes_can_be_read(database: str) -> None:
    with closing(PostgresJournal(database, HERE)) as journal:
        journal.append([draft("a")])
    only_read = make_conninfo(database, options="-cdefault_transaction_read_only=on")
    with closing(PostgresJournal(only_read, HERE)) as journal:
        assert [record.draft.id for record in journal.read(Query())] == ["a"]
        assert "this server takes no writes" in told(lambda: journal.append([draft("b")]))
        assert journal.head().seq == 1
    other = PostgresJournal(only_read, RepositoryName("other", "other"))
    assert "`target_session_attrs=read-write`" in told(other.head)


@pytest.mark.requirement("fleet.database-gone")
def test_a_database_that_goes_in_the_middle_and_comes_back_loses_nothing(database: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    server = make_conninfo(database, dbname="postgres")
    with (
        closing(PostgresJournal(database, HERE)) as journal,
        psycopg.connect(server, autocommit=True) as raw,
    ):
        journal.append([draft("a")])
        raw.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        raw.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        for _ in range(2):
            said = told(lambda: journal.append([draft("b"), draft("c")]))
            assert str(name) in said
            assert "nothing is recorded twice" in said
        raw.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        assert [each.seq for each in journal.append([draft("b"), draft("c")])] == [2, 3]
        assert [each.seq for each in journal.append([draft("b"), draft("c")])] == [2, 3]


def test_too_many_connections_are_told_with_how_many_a_worker_needs(database: str) -> None:
    role = f"few_{uuid4().hex[:8]}"
    with psycopg.connect(database, autocommit=True) as raw:
        raw.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 0".encode())
        journal = PostgresJournal(make_conninfo(database, user=role), HERE)
        assert "`max_connections`" in told(journal.head)
        raw.execute(f"DROP ROLE {role}".encode())


@pytest.mark.parametrize(("part", "value"), [("dbname", "no_such_place"), ("user", "nobody_here")])
def test_an_address_that_leads_nowhere_is_to_be_looked_at(
    database: str, part: str, value: str
) -> None:
    journal = PostgresJournal(make_conninfo(database, **{part: value}), HERE)
    said = told(journal.head)
    assert value in said
    assert "hint: look at user, password and database" in said


def test_tables_that_went_are_not_made_anew_behind_somebodys_back(postgres_place: Place) -> None:
    with closing(postgres_place.open()) as journal:
        journal.append([draft("a")])
        with psycopg.connect(postgres_place.address) as raw:
            moved = f"{postgres_place.schema}_moved"
            raw.execute(f"ALTER SCHEMA {postgres_place.schema} RENAME TO {moved}".encode())
        assert "moved or removed" in told(lambda: journal.append([draft("b")]))
        with psycopg.connect(postgres_place.address) as raw:
            raw.execute(f"ALTER SCHEMA {moved} RENAME TO {postgres_place.schema}".encode())
        journal.append([draft("b")])
        assert journal.head().seq == 2


@pytest.mark.requirement("fleet.database-gone")
@one_fact(
    "state, text, part",
    [
        ("42501", "", "fleet grants --role 'a b'"),
        (None, "connection failed: FATAL: sorry, too many clients already", "max_connections"),
        ("53100", "could not extend file", "make room on that machine"),
        (None, "connection failed: root certificate file does not exist", "`sslrootcert`"),
        (
            None,
            "connection to server at 192.0.2.1 failed: Connection refused",
            "whether the server",
        ),
        ("57P01", "terminating connection due to administrator command", "whether the server"),
        (None, "connection failed: FATAL: password authentication failed", "look at user"),
    ],
)
def test_what_helps_is_known_by_what_the_driver_says(
    state: str | None, text: str, part: str
) -> None:
    assert part in str(cure(state, text, "a b"))


def test_what_nobody_knows_a_cure_for_speaks_for_itself() -> None:
    assert cure("22012", "division by zero", "me") is None


# -- TLS ---------------------------------------------------------------------------------------


class Listener:
    """Something that answers as a server of PostgreSQL does that is asked for TLS."""

    def __init__(self, answer: bytes, certificate: Path | None) -> None:
        self._answer = answer
        self._certificate = certificate
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.asked = False
        self.heard = b""
        """What it was told after its answer, and behind TLS if there was any."""
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @contextmanager
    def serving(self) -> Iterator[Listener]:
        self._thread.start()
        try:
            yield self
        finally:
            self._socket.close()
            self._thread.join(10)

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            connection.settimeout(10)
            self.asked = connection.recv(8) == struct.pack("!ii", 8, 80877103)
            connection.sendall(self._answer)
            try:
                if self._certificate is None:
                    self.heard = connection.recv(4096)
                else:
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(self._certificate)
                    with context.wrap_socket(connection, server_side=True) as safe:
                        self.heard = safe.recv(4096)
            except OSError:
                return


def by_journal(url: str) -> None:
    with closing(PostgresJournal(url, HERE)) as journal:
        journal.head()


def by_queue(url: str) -> None:
    database = DbosDatabase(path="", url=url, lock=lambda: closing(socket.socket()))
    with database.problems(), database.engine.connect():
        pass


def address(listener: Listener, **parts: str) -> str:
    return make_conninfo(
        f"postgresql://me:{SECRET}@127.0.0.1:{listener.port}/plans",
        gssencmode="disable",
        sslnegotiation="postgres",
        **parts,
    )


@pytest.mark.requirement("fleet.database-tls")
@pytest.mark.parametrize("use", [by_journal, by_queue])
def test_who_demands_tls_tells_a_server_without_it_nothing(use: Callable[[str], None]) -> None:
    with Listener(b"N", None).serving() as listener:
        said = told(lambda: use(address(listener, sslmode="require")))
    assert listener.asked
    assert listener.heard == b""
    assert "this is about TLS" in said
    assert SECRET not in said


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for `localhost`, which nobody else signed."""
    need("openssl", "it makes a certificate")
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    made = subprocess.run(
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout - -out - -days 2 -subj /CN=localhost"
        " -addext subjectAltName=DNS:localhost".split(),
        check=True,
        capture_output=True,
    )
    path.write_bytes(made.stdout)
    return path


@pytest.mark.requirement("fleet.database-tls")
@pytest.mark.parametrize("use", [by_journal, by_queue])
def test_a_certificate_that_does_not_fit_is_refused_before_anything_is_told(
    certificate: Path, use: Callable[[str], None]
) -> None:
    # It is for `localhost`, and the address says `127.0.0.1`.
    with Listener(b"S", certificate).serving() as listener:
        strict = address(listener, sslmode="verify-full", sslrootcert=str(certificate))
        said = told(lambda: use(strict))
    assert listener.heard == b""
    assert "this is about TLS" in said


@pytest.mark.requirement("fleet.database-tls")
def test_a_certificate_that_fits_is_taken(certificate: Path) -> None:
    with Listener(b"S", certificate).serving() as listener:
        lenient = address(listener, sslmode="verify-ca", sslrootcert=str(certificate))
        told(lambda: by_journal(lenient))
    assert b"user\0me\0" in listener.heard


def test_a_root_certificate_that_is_not_there_is_told(tmp_path: Path) -> None:
    with Listener(b"S", None).serving() as listener:
        missing = address(listener, sslmode="verify-full", sslrootcert=str(tmp_path / "none"))
        assert "`sslrootcert`" in told(lambda: by_journal(missing))


# -- what is told of the address -----------------------------------------------------------------


@one_fact(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:5432/plans",
        f"postgresql://me@127.0.0.1/plans?sslmode=require&password={SECRET}",
        f"postgresql:///plans?host=/tmp&password={SECRET}",
        f"host=db.example.org password={SECRET} dbname=plans",
        f"host=db.example.org password = '{SECRET}' dbname=plans",
    ],
)
@pytest.mark.requirement("fleet.database-secret")
def test_the_password_of_an_address_is_a_secret_by_itself(url: str) -> None:
    redactor = Redactor({"PLANBOUND_DATABASE_URL": url}, ())
    for text in (f"it is {SECRET}.", url, f"connecting with {SECRET} to plans"):
        assert SECRET not in redactor.redact(text).text


def test_a_password_that_is_also_a_name_stays_a_word() -> None:
    redactor = Redactor({"PLANBOUND_DATABASE_URL": "postgresql://postgres:postgres@h/x"}, ())
    assert redactor.redact("install postgres first").text == "install postgres first"


def test_a_problem_with_the_address_is_told_by_its_parts() -> None:
    with pytest.raises(JournalProblem, match="cannot be read") as caught:
        PostgresJournal(f"postgresql://me:{SECRET}@[::1/plans", HERE)
    assert SECRET not in str(caught.value)
