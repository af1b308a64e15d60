"""A cell that reaches a few hosts and nothing else, against real servers on this machine."""

from __future__ import annotations

import http.server
import ipaddress
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planbound.cells.cell import CommandEnding, Outcome
from planbound.cells.egress import (
    Destination,
    Traffic,
    canonical,
    is_listed,
    may_connect,
    parse_destination,
    together,
)
from planbound.cells.proxy import Proxy
from planbound.errors import CellProblem
from tests.cells import cell_bench
from tests.cells.cell_bench import APART, COPIED, Bench, cells, nap, running, wait_until
from tests.needs import need

pytestmark = pytest.mark.requirement("cell.egress")

bench = cell_bench.bench
PYTHON = "/usr/bin/python3"


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"{self.path} for {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # with five, which is usual, the kernel resets some of fifty


class Web:
    """A server of plain pages, and one with TLS."""

    def __init__(self, folder: Path) -> None:
        self.certificate = folder / "certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.2,DNS:localhost",
             "-keyout", folder / "key.pem", "-out", self.certificate],
            check=True, capture_output=True,
        )  # fmt: skip
        self.plain = self._server(None)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, folder / "key.pem")
        self.secure = self._server(context)

    def _server(self, context: ssl.SSLContext | None) -> http.server.ThreadingHTTPServer:
        # All of 127.0.0.0/8 is this machine, and only one address of it is bridged.
        server = _Server(("0.0.0.0", 0), _Page)
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    @property
    def ports(self) -> tuple[int, int]:
        return self.plain.server_address[1], self.secure.server_address[1]


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """Serve pages."""
    need("openssl", "a server with TLS has a certificate by it")
    made = Web(tmp_path)
    yield made
    for server in (made.plain, made.secure):
        server.shutdown()
        server.server_close()


def _allowed(*texts: str) -> tuple[Destination, ...]:
    return tuple(map(parse_destination, texts))


FETCH = """
import sys, urllib.request, ssl
for url in sys.argv[1:]:
    try:
        context = ssl.create_default_context(cafile="certificate.pem")
        print(urllib.request.urlopen(url, timeout=20, context=context).read().decode())
    except Exception as error:
        print(type(error).__name__, error)
"""


def _fetch(bench: Bench, web: Web, allowed: tuple[Destination, ...], *urls: str) -> Outcome:
    bench.write("fetch.py", FETCH)
    bench.write("certificate.pem", web.certificate.read_bytes())
    # What is excepted from proxies is not asked by one: another address of this machine is.
    outcome = bench.run(f"{PYTHON} fetch.py {' '.join(urls)}", egress=allowed, writable=True)
    assert outcome.ending is CommandEnding.EXITED, outcome
    return outcome


@cells(*APART)
def test_what_is_on_the_list_is_reached_and_counted(bench: Bench, web: Web) -> None:
    plain, secure = web.ports
    allowed = _allowed(f"127.0.0.2:{plain}", f"127.0.0.2:{secure}")
    outcome = _fetch(
        bench, web, allowed, f"http://127.0.0.2:{plain}/one?two", f"https://127.0.0.2:{secure}/tls"
    )
    assert outcome.stdout.text().splitlines() == [
        f"/one?two for 127.0.0.2:{plain}",
        f"/tls for 127.0.0.2:{secure}",
    ]
    first, second = outcome.traffic
    assert {first.name, second.name} == {f"127.0.0.2:{plain}", f"127.0.0.2:{secure}"}
    assert all(
        each.connections == 1 and each.sent > 50 and each.received > 50 and not each.refused
        for each in outcome.traffic
    )


@cells(*APART)
def test_what_is_not_on_the_list_is_refused_and_named(bench: Bench, web: Web) -> None:
    plain, secure = web.ports
    outcome = _fetch(
        bench,
        web,
        _allowed(f"127.0.0.2:{plain}", "example.org:443"),
        f"http://127.0.0.3:{plain}/",
        f"https://127.0.0.2:{secure}/",
        "https://elsewhere.invalid/",
    )
    assert outcome.stdout.text().count("403 Forbidden") + outcome.stdout.text().count("403:") == 3
    assert [str(each) for each in outcome.traffic] == sorted(
        [
            f"127.0.0.2:{secure}: refused 1 time",
            f"127.0.0.3:{plain}: refused 1 time",
            "elsewhere.invalid:443: refused 1 time",
        ]
    )


@cells(*APART)
def test_there_is_no_other_way_out(bench: Bench, web: Web) -> None:
    """Neither without the proxy, nor by datagrams, nor to the host's own loopback address."""
    plain, _ = web.ports
    bench.write(
        "around.py",
        f"""
import socket
for address in ("127.0.0.1", "127.0.0.2", "{_own_address()}", "1.1.1.1"):
    try:
        socket.create_connection((address, {plain}), timeout=5)
        print("out by", address)
    except OSError:
        pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53))
    print("out by a datagram")
except OSError:
    pass
try:
    print("out by a name", socket.getaddrinfo("example.org", 80))
except OSError:
    pass
""",
    )
    allowed = _allowed(f"127.0.0.2:{plain}")[:0]
    assert bench.says(f"env -u HTTP_PROXY {PYTHON} around.py", egress=allowed, writable=True) == ""


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        try:
            channel.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.9"
        return str(channel.getsockname()[0])


@cells(*APART)
def test_a_server_of_this_machine_is_found_where_it_is(bench: Bench, web: Web) -> None:
    """A model that is served locally is asked without a proxy."""
    plain, _ = web.ports
    outcome = _fetch(bench, web, _allowed(f"localhost:{plain}"), f"http://127.0.0.1:{plain}/model")
    assert outcome.stdout.text() == f"/model for 127.0.0.1:{plain}\n"
    assert [each.name for each in outcome.traffic] == [f"127.0.0.1:{plain}"]


RAW = """
import os, socket, sys
proxy = os.environ["HTTP_PROXY"].rpartition(":")[2]
def ask(data, half=False):
    with socket.create_connection(("127.0.0.1", int(proxy)), timeout=30) as one:
        one.sendall(data)
        if half:
            one.shutdown(socket.SHUT_WR)
        said = b""
        try:
            while piece := one.recv(65536):
                said += piece
        except OSError:
            pass
        return said.split(b"\\r\\n")[0].decode("latin-1")
"""


@cells(*APART)
def test_hostile_requests_are_refused_and_the_next_one_is_served(bench: Bench, web: Web) -> None:
    plain, _ = web.ports
    bench.write(
        "hostile.py",
        RAW
        + f"""
asked = [
    b"GET http://127.0.0.2:{plain}/ HTTP/1.1\\r\\nX: " + b"x" * 100000 + b"\\r\\n\\r\\n",
    b"\\x00\\xff\\r\\n\\r\\n",
    b"CONNECT 127.0.0.2:{plain}\\r\\n\\r\\n",
    b"CONNECT user@127.0.0.2:{plain} HTTP/1.1\\r\\n\\r\\n",
    b"CONNECT 127.0.0.2:99999 HTTP/1.1\\r\\n\\r\\n",
    b"CONNECT 2130706434:{plain} HTTP/1.1\\r\\n\\r\\n",
    b"CONNECT 0x7f.2:{plain} HTTP/1.1\\r\\n\\r\\n",
    b"CONNECT [::ffff:127.0.0.2]:{plain} HTTP/1.1\\r\\n\\r\\n",
    b"GET /relative HTTP/1.1\\r\\n\\r\\n",
    b"GET ftp://127.0.0.2/x HTTP/1.1\\r\\n\\r\\n",
    b"GET http://127.0.0.2:{plain}@127.0.0.3:{plain}/ HTTP/1.1\\r\\n\\r\\n",
    b"CONNECT 127.0.0.2:{plain}\\x00.evil.example:443 HTTP/1.1\\r\\n\\r\\n",
]
for each in asked:
    print(ask(each))
print(ask(b"CONNECT half", half=True))
print(ask(b"GET http://127.0.0.2:{plain}/fine HTTP/1.0\\r\\nProxy-Authorization: x\\r\\n\\r\\n"))
""",
    )
    outcome = bench.run(
        f"{PYTHON} hostile.py", egress=_allowed(f"127.0.0.2:{plain}"), writable=True
    )
    *refused, half, fine = outcome.stdout.text().splitlines()
    assert [line.split(" ")[1] for line in refused] == [
        "431", "400", "400", "400", "400", "403", "403", "403", "400", "400", "400", "400",
    ]  # fmt: skip
    assert half == ""
    assert fine.endswith("200 OK")


@cells(*APART)
def test_fifty_connections_at_once_are_served(bench: Bench, web: Web) -> None:
    plain, secure = web.ports
    bench.write("certificate.pem", web.certificate.read_bytes())
    bench.write(
        "many.py",
        f"""
import concurrent.futures, ssl, urllib.request
context = ssl.create_default_context(cafile="certificate.pem")
def one(number):
    scheme, port = (("http", {plain}), ("https", {secure}))[number % 2]
    data = b"x" * 100000
    url = f"{{scheme}}://127.0.0.2:{{port}}/{{number}}"
    return urllib.request.urlopen(url, data, timeout=300, context=context).status
with concurrent.futures.ThreadPoolExecutor(50) as pool:
    print(sum(status == 200 for status in pool.map(one, range(50))))
""",
    )
    allowed = _allowed(f"127.0.0.2:{plain}", f"127.0.0.2:{secure}")
    outcome = bench.run(f"{PYTHON} many.py", egress=allowed, writable=True)
    assert outcome.stdout.text() == "50\n", outcome.stderr.text()
    assert sum(each.connections for each in outcome.traffic) == 50
    assert sum(each.sent for each in outcome.traffic) > 5_000_000


@pytest.mark.thorough
@cells("namespaces")
def test_who_is_slow_is_not_waited_for_and_stops_nobody(
    bench: Bench, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planbound.cells.proxy._HEAD_SECONDS", 0.5)
    plain, _ = web.ports
    bench.write(
        "slow.py",
        RAW
        + f"""
idle = [socket.create_connection(("127.0.0.1", int(proxy))) for _ in range(100)]
for each in idle:
    each.sendall(b"CONNECT ")
print(ask(b"GET http://127.0.0.2:{plain}/ HTTP/1.1\\r\\n\\r\\n"))
print({{each.makefile("rb").readline().split()[1] for each in idle}})
""",
    )
    said = bench.says(f"{PYTHON} slow.py", egress=_allowed(f"127.0.0.2:{plain}"), writable=True)
    assert said == "HTTP/1.1 200 OK\n{b'408'}\n".replace("HTTP/1.1", said.split(" ")[0])


@cells("namespaces")
def test_a_listed_name_that_leads_to_this_machine_is_refused(
    bench: Bench, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, _ = web.ports
    known = socket.getaddrinfo

    def resolve(host: str, *given: Any, **more: Any) -> Any:
        return known("127.0.0.1" if host == "inside.example.org" else host, *given, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    outcome = _fetch(
        bench,
        web,
        _allowed(f"inside.example.org:{plain}"),
        f"http://inside.example.org:{plain}/",
    )
    assert "502" in outcome.stdout.text()
    assert [str(each) for each in outcome.traffic] == [
        f"inside.example.org:{plain}: refused 1 time"
    ]
    listed = _allowed(f"inside.example.org:{plain}", f"127.0.0.0/8:{plain}")
    outcome = _fetch(bench, web, listed, f"http://inside.example.org:{plain}/")
    assert outcome.stdout.text() == f"/ for inside.example.org:{plain}\n"


@cells("namespaces")
def test_where_the_proxy_is_gone_there_is_no_way_out(
    bench: Bench, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, _ = web.ports

    async def fail(self: Proxy, listeners: list[socket.socket]) -> None:
        del self
        for each in listeners:
            each.close()

    monkeypatch.setattr(Proxy, "_serve", fail)
    outcome = _fetch(bench, web, _allowed(f"127.0.0.2:{plain}"), f"http://127.0.0.2:{plain}/")
    assert "refused" in outcome.stdout.text()


@cells(*APART)
def test_a_harness_that_is_killed_takes_the_cell_along(bench: Bench) -> None:
    word = nap()
    allowed = _allowed("example.org:443")
    with bench.harness(f"sleep {word}", egress=allowed, writable=True) as process:
        assert wait_until(lambda: running(word))
        process.kill()
        assert wait_until(lambda: not running(word))


@cells(*COPIED)
def test_a_cell_without_a_network_of_its_own_runs_nothing(bench: Bench) -> None:
    with pytest.raises(CellProblem, match="cannot keep a program from all others"):
        bench.run("touch ran", egress=_allowed("example.org:443"), writable=True)
    assert bench.names() == []


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("api.openai.com", "api.openai.com:443"),
        ("API.OpenAI.com.:8443", "api.openai.com:8443"),
        ("*.example.org:443", "*.example.org:443"),
        ("192.0.2.5:443", "192.0.2.5:443"),
        ("192.0.2.0/24:443", "192.0.2.0/24:443"),
        ("[2001:db8::1]:80", "[2001:db8::1]:80"),
        ("bücher.example:443", "xn--bcher-kva.example:443"),
        ("localhost:11434", "localhost:11434"),
    ],
)
def test_a_host_is_read(text: str, said: str) -> None:
    assert str(parse_destination(text)) == said


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.com", "*:443", "https://example.org", "a b", "a:0", "a:65536", "a:x", "-a.org",
     "127.1:80", "0x7f.1", "2130706433:80", "a..b", "*.*.org", "192.0.2.5/24:443", "a/b", "a@b"],
)  # fmt: skip
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(is|has) "):
        parse_destination(text)


@pytest.mark.parametrize(
    ("host", "port", "listed"),
    [
        ("api.example.org", 443, True),
        ("API.EXAMPLE.ORG.", 443, True),
        ("api.example.org", 80, False),
        ("example.org", 443, False),
        ("a.cdn.example.net", 443, True),
        ("a.b.cdn.example.net", 443, True),
        ("cdn.example.net", 443, False),
        ("evilcdn.example.net", 443, False),
        ("api.example.org.evil.net", 443, False),
        ("api.example.org\0.evil.net", 443, False),
        ("93.184.216.34", 443, False),
        ("192.0.2.3", 443, True),
        ("192.0.2.3", 22, False),
        ("::ffff:192.0.2.3", 443, False),
    ],
)
def test_a_name_is_compared_whole(host: str, port: int, listed: bool) -> None:  # noqa: FBT001 - a table
    allowed = _allowed("api.example.org", "*.cdn.example.net", "192.0.2.0/24:443")
    assert is_listed(host, port, allowed) is listed


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "169.254.169.254", "198.18.0.1", "0.0.0.0", "::1", "fe80::1", "fd00::1",
     "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "100.64.0.1"],
)  # fmt: skip
def test_a_listed_name_that_leads_inside_is_not_followed(address: str) -> None:
    found = ipaddress.ip_address(address)
    assert not may_connect(found, 443, _allowed("api.example.org", "*.example.org"))
    assert not may_connect(found, 443, _allowed("localhost:80"))
    assert may_connect(ipaddress.ip_address("93.184.216.34"), 443, ())


def test_an_address_inside_that_is_listed_is_followed() -> None:
    assert may_connect(ipaddress.ip_address("192.0.2.5"), 443, _allowed("a.example", "192.0.2.5"))
    assert may_connect(ipaddress.ip_address("127.0.0.1"), 80, _allowed("localhost:80"))


def test_what_several_commands_sent_is_added_up() -> None:
    found = together([Traffic("a:443", 1, 2, 3), Traffic("b:1", refused=1), Traffic("a:443", 1, 1)])
    assert list(map(str, found)) == [
        "a:443: 2 connections, 3 bytes out, 3 in",
        "b:1: refused 1 time",
    ]
    assert canonical("a" * 64 + ".org") is None
