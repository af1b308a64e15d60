"""Who is at the other end: another user, a process in a cell, nobody; and who holds up the rest."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import h11
import pytest
import uvicorn

import planbound.page.far_end
from planbound.page.connections import Connection
from planbound.page.far_end import FarEnd, FarEnds, find_rows, is_in_cell
from planbound.workspace.page_home import PageFolder, RunningPage
from tests.cells.cell_bench import Bench, can_be_had
from tests.page.browser import RunningServer, read_answer, serving
from tests.program import Program
from tests.run.bench import Bench as Project
from tests.run.bench import Step

pytestmark = [
    pytest.mark.requirement("page.security"),
    pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="only Linux tells who it is"),
]

NOBODY = 65534
ASK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
    connection.sendall(sys.argv[3].encode("latin-1"))
    while chunk := connection.recv(65536):
        sys.stdout.buffer.write(chunk)
"""


def request(page: RunningServer, target: str) -> str:
    """Return a request as a browser sends it that entered."""
    return (
        f"GET {target} HTTP/1.1\r\nHost: {page.host}:{page.port}\r\nCookie: {page.cookie}\r\n"
        "Connection: close\r\n\r\n"
    )


def words(page: RunningServer, target: str) -> tuple[str, ...]:
    """Return a command that asks for something with the cookie."""
    return ("/usr/bin/python3", "-c", ASK, page.host, str(page.port), request(page, target))


def by_nobody(page: RunningServer, target: str) -> int:
    """Return what another user is answered."""
    done = subprocess.run(words(page, target), capture_output=True, user=NOBODY, check=True)
    return read_answer(done.stdout).status


@pytest.mark.parametrize("target", ["/", "/inbox", "/live"])
def test_a_cookie_in_a_cell_opens_nothing(page: RunningServer, tmp_path: Path, target: str) -> None:
    # With `network = true` a cell has the loopback of this machine, and browsers send a cookie
    # to every port: what an agent serves for a person to look at gets it.
    can_be_had("namespaces")
    bench = Bench("namespaces", tmp_path)
    outcome = bench.run("", command=words(page, target), network=True)
    answer = read_answer(outcome.stdout.head)
    assert answer.status == 403, outcome.stderr.text()
    assert "in a cell" in answer.text
    assert page.get("/").status == 200


def test_whoever_hides_in_a_cell_is_found(page: RunningServer, tmp_path: Path) -> None:
    can_be_had("namespaces")
    hiding = "import ctypes, os; ctypes.CDLL(None).prctl(4, 0); os.fork() and os._exit(0);"
    command = list(words(page, "/"))
    command[2] = f"{hiding} os.setsid()\n{ASK}\nopen('done', 'w').close()"
    script = '"$@" > said; until test -e done; do :; done; cat said'
    bench = Bench("namespaces", tmp_path)
    outcome = bench.run("", command=("/bin/bash", "-c", script, "x", *command), network=True,
                        writable=True)  # fmt: skip
    assert read_answer(outcome.stdout.head).status == 403, outcome.stderr.text()


def test_an_agent_at_work_has_neither_the_key_nor_a_use_for_a_cookie(tmp_path: Path) -> None:
    can_be_had("namespaces")
    project = Project(tmp_path)
    project.lay(Step("make first"), name="first")
    with serving(project, "--decide-anyway") as running:
        running.enter()
        (key,) = tmp_path.rglob("page/key")
        asked = request(running, "/").replace("\r", "\\r").replace("\n", "\\n")
        look = (
            f"cat {key}; exec 3<>/dev/tcp/{running.host}/{running.port}"
            f" && echo REACHED && printf '{asked}' >&3 && cat <&3"
        )
        project.prepare(Step("make spy", target="coder-spy", work=f"({look}) 2>&1 | tee src/spy"),
                        name="spy")  # fmt: skip
        project.run("run", "spy")
        said = (project.workspace / "src" / "spy").read_text()
        assert "No such file" in said
        assert "REACHED" in said, "by default an agent has the network of the machine"
        assert "403 Forbidden" in said
        assert "in a cell" in said


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_user_of_this_machine_gets_nothing_by_cookie_or_link(project: Program) -> None:
    with serving(project) as running:
        target = running.link.removeprefix(running.address)
        assert by_nobody(running, target) == 403
        running.enter()  # the link was in a command line: it is still good for whom it was made
        for each in ("/", "/plan/hello"):
            assert by_nobody(running, each) == 403
            assert running.get(each).status == 200


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_a_proxy_of_another_user_may_stand_before_an_address_that_was_said(
    project: Program,
) -> None:
    with serving(project, "--host", "127.0.0.1") as running:
        running.enter()
        assert by_nobody(running, "/") == 200


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_who_closed_before_the_answer_is_not_taken_for_somebody(
    family: socket.AddressFamily,
) -> None:
    host = "127.0.0.1"
    with socket.create_server((host, 0)) as server:
        place = server.getsockname()
        client = socket.socket(family)
        client.connect(place if family == socket.AF_INET else (f"::ffff:{host}", place[1]))
        near, other = server.accept()
        with near:
            ends = FarEnds(own_alone=True)
            assert ends.of(other, place) is FarEnd.OWN
            (row,) = find_rows([(other, place)])
            assert row is not None
            assert row.user == os.getuid()
            assert not is_in_cell(row.inode)
            assert planbound.page.far_end._looked_up([(other, place)]) == [row]
            client.close()
            assert ends.of(other, place) is FarEnd.GONE


def test_of_what_the_kernel_does_not_know_nothing_is_told() -> None:
    ends = FarEnds(own_alone=True)
    assert ends.of(("192.0.2.1", 1), ("192.0.2.2", 2)) is FarEnd.OWN


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_no_link_leads_to_what_another_user_may_serve_in_place_of_the_page(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = PageFolder(str(tmp_path))
    folder.key()
    folder.note(RunningPage(7465, "127.0.0.1", os.getpid(), "start"))
    assert [each.port for each in folder.running()] == [7465]
    os.chown(tmp_path / "page", NOBODY, NOBODY)
    os.chown(tmp_path / "page" / "7465.json", NOBODY, NOBODY)
    if not os.fork():  # the number of its process is that of a process of somebody else
        os.setresuid(NOBODY, NOBODY, NOBODY)
        os._exit(len(folder.running()))
    assert os.wait()[1] == 0


# -- who holds up the rest -------------------------------------------------------------------------


def test_a_made_up_link_costs_nothing(deciding: RunningServer) -> None:
    host = f"{deciding.host}:{deciding.port}"
    head = (
        f"POST /d/made.up HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 8000000\r\n\r\n"
    )
    with deciding.connect() as connection:
        connection.sendall(head.encode())  # and not a byte of the form
        assert b" 404 " in connection.recv(1000)[:20]


class Handle:
    """Something that a loop was told to do later."""

    def __init__(self, delay: float, callback: Callable[..., object]) -> None:
        self.delay, self.callback = delay, callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Clock(Mock):
    """A loop in which time is what a test says."""

    due: list[Handle]

    def call_later(self, delay: float, callback: Callable[..., object]) -> Handle:
        self.due.append(Handle(delay, callback))
        return self.due[-1]

    def create_task(self, coroutine: Coroutine[None, None, None], **_: object) -> Mock:
        coroutine.close()
        return Mock()

    def waits(self) -> list[float]:
        """Return for how long something is waited for now."""
        return [each.delay for each in self.due if not each.is_cancelled]


@pytest.fixture
def held() -> tuple[Connection, Clock, Mock]:
    """Return a connection of somebody who may be slow."""
    clock, transport = Clock(due=[]), Mock()
    transport.get_extra_info.return_value = None
    config = uvicorn.Config(Mock(), http=Connection, lifespan="off", log_level="critical")
    connection = Connection(config, uvicorn.server.ServerState(), {}, _loop=clock)
    connection.connection_made(transport)
    return connection, clock, transport


HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"


def test_half_a_request_has_its_time_however_it_trickles_in(
    held: tuple[Connection, Clock, Mock],
) -> None:
    connection, clock, transport = held
    assert clock.waits() == [10]
    (first,) = clock.due
    for byte in HEAD[:-1]:
        connection.data_received(bytes([byte]))
        assert [each for each in clock.due if not each.is_cancelled] == [first]
    connection.data_received(HEAD[-1:])
    assert clock.waits() == [65], "the form has a time of its own"
    connection.data_received(b"a" * 99)
    assert clock.waits() == [65]
    connection.data_received(b"a")
    assert clock.waits() == []
    first.callback()
    assert transport.abort.called


def test_half_of_a_later_request_has_its_time_too(held: tuple[Connection, Clock, Mock]) -> None:
    connection, clock, transport = held
    transport.is_closing.return_value = False
    connection.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert clock.waits() == []
    connection.conn.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
    connection.conn.send(h11.EndOfMessage())
    connection.on_response_complete()
    assert 10 in clock.waits()
    connection.data_received(b"GET / HT")
    assert clock.waits() == [10], "it does not begin again by a byte"


def test_what_nobody_reads_is_thrown_away(held: tuple[Connection, Clock, Mock]) -> None:
    connection, clock, transport = held
    transport.is_closing.return_value = False
    connection.pause_writing()
    assert clock.waits() == [10, 60]
    connection.resume_writing()
    assert clock.waits() == [10]
    connection.pause_writing()
    clock.due[-1].callback()
    assert transport.abort.called


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_user_does_not_take_all_places(project: Program) -> None:
    hold = (
        "import socket, sys; place = (sys.argv[1], int(sys.argv[2]));"
        " held = [socket.create_connection(place) for _ in range(750)];"
        " print('held', flush=True); sys.stdin.read()"
    )
    with serving(project) as running:
        running.enter()
        words = ("/usr/bin/python3", "-c", hold, running.host, str(running.port))
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, user=NOBODY) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            assert running.get("/").status == 200
            assert len(os.listdir(f"/proc/{running.process.pid}/fd")) < 150
            other.kill()


def test_of_very_many_connections_the_last_are_closed(project: Program) -> None:
    with serving(project) as running:
        held = [running.connect() for _ in range(650)]
        crowded = running.get("/")
        assert crowded.status == 503
        assert "default-src 'none'" in (crowded.header("content-security-policy") or "")
        held += [running.connect() for _ in range(150)]
        # At once, and not when their time is over.
        with suppress(ConnectionResetError):
            assert held[-1].recv(1) == b""
        assert len(os.listdir(f"/proc/{running.process.pid}/fd")) < 800
        for each in held:
            each.close()
