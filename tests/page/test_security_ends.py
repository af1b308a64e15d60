"""Who is at the other end: another user, a process in a cell, nobody; and who holds up the rest."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from planbound.page.far_end import FarEnd, FarEnds, find_rows, is_in_cell
from tests.cells.cell_bench import Bench, can_be_had
from tests.page.browser import RunningServer, read_answer, serving
from tests.program import Program

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
            client.close()
            assert ends.of(other, place) is FarEnd.GONE


def test_of_what_the_kernel_does_not_know_nothing_is_told() -> None:
    ends = FarEnds(own_alone=True)
    assert ends.of(("192.0.2.1", 1), ("192.0.2.2", 2)) is FarEnd.OWN


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


def test_of_very_many_connections_the_last_are_closed(project: Program) -> None:
    with serving(project) as running:
        held = [running.connect() for _ in range(800)]
        # At once, and not when their time is over.
        with suppress(ConnectionResetError):
            assert held[-1].recv(1) == b""
        assert len(os.listdir(f"/proc/{running.process.pid}/fd")) < 800
        for each in held:
            each.close()
