"""Who may ask the page for what: every line of the promise, word for word over a socket."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest

import planbound.page
from planbound.page.routes import ROUTES
from tests.page.browser import Answer, RunningServer, serving
from tests.program import Program

pytestmark = pytest.mark.requirement("page.security")

FORM = "application/x-www-form-urlencoded"


def addresses() -> list[str]:
    """Return an address for each route."""
    known = {"plan": "hello", "step": "1", "attempt": "1", "seq": "1"}
    found = []
    for route in ROUTES:
        path = route.pattern
        for part in path.split("/"):
            if part.startswith("{"):
                path = path.replace(part, known.get(part.strip("{}").partition(":")[0], "x"))
        found.append(path)
    return [*found, "/static/style.css", "/enter?token=x", "/live", "/nowhere"]


def statuses(page: RunningServer, **headers: str) -> set[int]:
    """Return what every address answers, with the cookie."""
    return {page.get(each, **headers).status for each in addresses()}


# -- the name by which we are called ---------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example",
            "evil.example:{port}",
            "127.0.0.1",
            "localhost:1",
            "127.0.0.1:{port}.evil",
        ),
        *("[::1]", "127.1:{port}", "2130706433:{port}", "127.0.0.1:{port}@evil.example", ""),
    ],
)
def test_whoever_calls_us_by_another_name_gets_nothing_on_any_route(
    page: RunningServer, host: str
) -> None:
    assert statuses(page, Host=host.format(port=page.port)) <= {400, 403}


def test_two_names_are_no_name(page: RunningServer) -> None:
    own = f"Host: {page.host}:{page.port}\r\n"
    for other in (own, "Host: evil.example\r\n"):
        answer = page.raw(f"GET / HTTP/1.1\r\n{own}{other}Cookie: {page.cookie}\r\n\r\n".encode())
        assert answer.status in {400, 403}


def test_an_address_in_the_request_line_does_not_stand_for_our_name(page: RunningServer) -> None:
    request = f"GET http://{page.host}:{page.port}/ HTTP/1.1\r\nHost: evil.example\r\n"
    answer = page.raw(f"{request}Cookie: {page.cookie}\r\nConnection: close\r\n\r\n".encode())
    assert answer.status == 403


def test_we_are_called_localhost_too(page: RunningServer) -> None:
    for name in ("localhost", "LOCALHOST", "[::1]", "127.0.0.1"):
        assert page.get("/", Host=f"{name}:{page.port}").status == 200


def test_it_listens_on_loopback_only(page: RunningServer) -> None:
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ours = [words[1] for words in listening if words[1].endswith(f":{page.port:04X}")]
    assert [each for each in ours if not each.startswith("0100007F")] == []
    assert ours


# -- the link and the cookie -----------------------------------------------------------------------


def test_without_the_cookie_nothing_is_shown_on_any_route(page: RunningServer) -> None:
    by_link = {route.pattern.partition("{")[0] for route in ROUTES if route.is_open}
    for each in addresses():
        if each == "/static/style.css":
            continue
        answer = page.ask("GET", each)
        # What is reached by a link that is a secret itself says that there is no such link.
        wanted = 404 if each.startswith(tuple(by_link)) else 401
        assert answer.status == wanted, each
        assert "hello" not in answer.text
        assert 'class="word' not in answer.text


def test_the_link_lets_one_browser_in_once(project: Program) -> None:
    with serving(project) as running:
        target = running.link.removeprefix(running.address)
        first = running.enter()
        assert first.status == 200
        assert running.get("/").status == 200
        again = running.ask("GET", target)
        assert again.status == 401
        assert again.header("set-cookie") is None
        other = target[:-1] + ("0" if target[-1] != "0" else "1")
        assert running.ask("GET", other).status == 401
        fresh = project.run("page", "--url", "--port", str(running.port)).out.strip()
        assert fresh != running.link
        assert running.ask("GET", fresh.removeprefix(running.address)).status == 200
        running.stop()


def test_the_cookie_is_for_this_page_alone(project: Program) -> None:
    with serving(project) as running:
        cookie = running.enter().header("set-cookie") or ""
        name, _, rest = cookie.partition("=")
        assert name == f"planbound-{running.port}"
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {
            each.strip() for each in rest.split(";")
        }
        value = rest.partition(";")[0]
        for wrong in (value[:-1] + "x", "", "a.b.c", value.replace(".", "..", 1)):
            assert running.get("/", Cookie=f"{name}={wrong}").status == 401
        other = f"planbound-{running.port + 1}={value}"
        assert running.get("/", Cookie=other).status == 401


@pytest.mark.thorough
def test_a_cookie_outlives_the_server_and_a_link_does_not(project: Program) -> None:
    with serving(project) as first:
        link, port = first.link, first.port
        first.enter()
        first.stop()
    fresh = project.run("page", "--url", "--port", str(port))
    assert fresh.code == 2
    # Whether another test of this module has a page open is not asked here.
    expected = f"no page (is served for this workspace|of this workspace is served at port {port})"
    assert re.match(f"error: {expected}\n", fresh.err)
    with serving(project, "--port", str(port)) as second:
        assert second.ask("GET", link.removeprefix(first.address)).status == 401
        second.cookie = first.cookie
        assert second.get("/").status == 200


def test_the_key_is_for_nobody_else(project: Program, page: RunningServer) -> None:
    del page
    (key,) = (project.workspace / ".home").rglob("page/key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    key.chmod(0o644)
    try:
        refused = project.run("page", "--url")
        assert refused.code == 2
        assert "others can read it" in refused.err
    finally:
        key.chmod(0o600)


def test_who_is_led_here_by_a_link_elsewhere_goes_on_by_one_of_ours(page: RunningServer) -> None:
    # A mail in a browser has a link to a question: the cookie stays behind until we are asked
    # from a page of our own.
    for site in ("cross-site", "same-site"):
        led = page.ask("GET", "/plan/hello/run", {"Sec-Fetch-Site": site})
        assert led.status == 401
        assert '<a href="/plan/hello/run">Open it from here</a>' in led.text
    assert page.get("/plan/hello/run", **{"Sec-Fetch-Site": "same-origin"}).status == 200
    again = page.ask("GET", "/plan/hello/run", {"Sec-Fetch-Site": "same-origin"})
    assert "Enter by a new link" in again.text


# -- what goes with every answer -------------------------------------------------------------------


POLICY = {
    *("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"),
    *("img-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"),
}


def sent_with(answer: Answer) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers}


def test_every_answer_says_what_a_browser_may_do_with_it(page: RunningServer) -> None:
    answers = [page.get(each) for each in ("/", "/nowhere", "/static/keys.js", "/costs")]
    answers += [page.ask("GET", "/"), page.get("/", Host="evil.example")]
    answers += [page.ask("DELETE", "/"), page.post("/", {})]
    answers += [page.raw(b"GET / HTTP/1.1\r\nHost\r\n\r\n"), page.raw(b"GET\r\n\r\n")]
    assert [each.status for each in answers[-2:]] == [400, 400]
    for answer in answers:
        found = sent_with(answer)
        assert len(found) == len(answer.headers), "each is said once"
        policy = {each.strip() for each in found["content-security-policy"].split(";")}
        assert policy == POLICY
        assert found["x-content-type-options"] == "nosniff"
        assert found["referrer-policy"] == "no-referrer"
        assert found["cross-origin-opener-policy"] == "same-origin"
        assert "access-control-allow-origin" not in found


def test_a_page_has_nothing_that_its_policy_forbids(page: RunningServer) -> None:
    for each in ("/", "/plan/hello", "/plan/hello/run", "/journal", "/costs"):
        body = page.get(each).text
        assert "<script>" not in body
        assert " style=" not in body
        assert "<style" not in body
        assert " onclick=" not in body
        assert "http://" not in body.replace("http://www.w3.org/", "")
        assert "https://" not in body


# -- what changes something ------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_no_other_method_does_anything(page: RunningServer, method: str) -> None:
    assert page.ask(method, "/", {"Cookie": page.cookie}).status in {400, 405}


def test_an_address_that_is_asked_in_another_way_says_how(deciding: RunningServer) -> None:
    for method, target, allowed in (
        ("GET", "/plan/hello/look", "POST"),
        ("HEAD", "/plan/hello/look", "POST"),
        ("POST", "/costs", "GET, HEAD"),
        ("DELETE", "/costs", "GET, HEAD, POST"),
    ):
        sent = {"Cookie": deciding.cookie, "Sec-Fetch-Site": "same-origin", "Content-Type": FORM}
        answer = deciding.ask(method, target, sent)
        assert (answer.status, answer.header("allow")) == (405, allowed), (method, target)


def test_to_ask_what_a_stream_would_be_ends_at_once(page: RunningServer) -> None:
    answer = page.ask("HEAD", "/live", {"Cookie": page.cookie})
    assert (answer.status, answer.body) == (200, b"")
    assert (answer.header("content-type") or "").startswith("text/event-stream")


def test_a_page_that_only_shows_takes_no_form(page: RunningServer) -> None:
    answer = page.post("/", {"a": "b"})
    assert answer.status == 403
    assert "--decide" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "", "Origin": ""},
        {"Sec-Fetch-Site": "same-origin, cross-site"},
        {"Sec-Fetch-Site": "Same-Origin"},
        {"Sec-Fetch-Site": "", "Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
        {"Sec-Fetch-Site": "", "Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "", "Origin": "http://127.0.0.1"},
        {"Origin": "http://evil.example"},
    ],
)
def test_a_form_that_another_site_sends_does_nothing(
    deciding: RunningServer, headers: dict[str, str]
) -> None:
    answer = deciding.post("/", {"nonce": "x"}, **headers)
    assert answer.status == 403
    assert "not sent by this page" in answer.text


def test_a_form_of_ours_is_taken_as_browsers_send_it(deciding: RunningServer) -> None:
    # Our own policy `no-referrer` lets them hide where a form began.
    for origin in (deciding.address, "null", ""):
        answer = deciding.post("/plan/hello/look", {"nonce": "x"}, Origin=origin)
        assert answer.status == 409, (origin, answer.text)
    # So does one that does not say which site it is at, on pages that let it say where they are.
    old = {"Sec-Fetch-Site": "", "Origin": deciding.address}
    assert deciding.post("/plan/hello/look", {"nonce": "x"}, **old).status == 409


def test_only_a_browser_that_says_no_site_is_let_say_where_it_is(deciding: RunningServer) -> None:
    meta = '<meta name="referrer" content="same-origin">'
    assert meta in deciding.get("/plan/hello/gate").text
    told = deciding.get("/plan/hello/gate", **{"Sec-Fetch-Site": "none"})
    assert meta not in told.text  # a proxy may call us otherwise: it says nothing, as ever
    for each in (told, deciding.get("/")):
        assert sent_with(each)["referrer-policy"] == "no-referrer"


def test_only_a_form_changes_something(deciding: RunningServer) -> None:
    for kind in ("application/json", "text/plain", "multipart/form-data; boundary=x", ""):
        assert deciding.post("/", {"nonce": "x"}, **{"Content-Type": kind}).status == 415


def test_a_form_without_a_nonce_of_ours_does_nothing(deciding: RunningServer) -> None:
    posts = [each for each in ROUTES if each.method == "POST" and not each.is_open]
    for route in posts:
        target = route.pattern.replace("{plan}", "hello")
        if "{" in target:
            continue
        for nonce in ("", "x", "eyJwbGFuIjoiaGVsbG8ifQ.0000"):
            assert deciding.post(target, {"nonce": nonce}).status == 409, target


def test_a_form_cannot_be_too_large(deciding: RunningServer) -> None:
    posts = [each.pattern for each in ROUTES if each.method == "POST" and "{" not in each.pattern]
    assert posts
    for target in posts[:1]:
        # Who is refused in the middle of sending may see only that.
        with suppress(ConnectionError):
            assert deciding.post(target, {"nonce": "x" * (9 << 20)}).status == 413
        assert deciding.post(target, {"nonce": "x" * (1 << 20)}).status == 409


# -- addresses that are none -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        *("/static/../keys.py", "/static/..%2fkeys.py", "//evil.example/", "/%2e%2e/x", "/a//b"),
        *("/static/%2e%2e/server.py", "/static/key", "/\\evil", "/plan/../../x", "/plan/x%00y"),
        *("/static/htmx.LICENSE.py", "/plan/%0d%0aSet-Cookie:%20a=b"),
    ],
)
def test_an_address_that_leads_elsewhere_leads_nowhere(page: RunningServer, target: str) -> None:
    answer = page.get(target)
    assert answer.status in {400, 404}
    assert answer.header("set-cookie") is None
    assert answer.header("location") is None


@pytest.mark.parametrize(
    "data",
    [
        *(b"\r\n\r\n", b"GET\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"),
        *(b"GET / HTTP/1.1\r\nHost\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_what_is_no_request_breaks_nothing(page: RunningServer, data: bytes) -> None:
    with page.connect() as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        found = bytearray()
        while chunk := connection.recv(65536):
            found += chunk
    assert b" 200 " not in bytes(found[:20])
    assert page.get("/").status == 200


@pytest.mark.parametrize("length", ["", "Content-Length: 5\r\n"])
def test_where_a_form_ends_is_said_once(deciding: RunningServer, length: str) -> None:
    own = f"Host: {deciding.host}:{deciding.port}\r\nCookie: {deciding.cookie}\r\n"
    smuggled = f"GET /costs HTTP/1.1\r\n{own}\r\n"
    asked = f"POST /plan/hello/look HTTP/1.1\r\n{own}Transfer-Encoding: chunked\r\n{length}"
    with deciding.connect() as connection:
        connection.sendall(f"{asked}\r\n0\r\n\r\n{smuggled}".encode())
        found = bytearray()
        while chunk := connection.recv(65536):
            found += chunk
    assert found.startswith(b"HTTP/1.1 400 ")
    assert found.count(b"HTTP/1.1 ") == 1, "what follows is not taken for a request"


def test_a_header_has_no_end_that_we_wait_for(page: RunningServer) -> None:
    with page.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        with_an_end = False
        try:
            for _ in range(200):
                connection.sendall(b"a" * 10_000)
        except OSError:
            with_an_end = True
        if not with_an_end:
            assert b" 400 " in connection.recv(1000)[:20]
    assert page.get("/").status == 200


# -- text of others --------------------------------------------------------------------------------


HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202egnp.exe \x1b]0;x\x07"


def test_the_text_of_a_plan_is_only_ever_text(project: Program, page: RunningServer) -> None:
    head = "---\ntype: plan\nstatus: draft\nowner: o\n---\n"
    project.plan("hostile", f"{head}\n# {HOSTILE}\n\n## Steps\n\n### 1. {HOSTILE}\n")
    try:
        for each in ("/", "/plan/hostile", "/plan/hostile/run"):
            body = page.get(each).text
            assert "<script>alert" not in body
            assert "<img" not in body
            assert "\u202e" not in body
            assert "\x1b" not in body
            assert "U+202E" in body
    finally:
        (project.workspace / ".harness" / "PLAN-hostile.md").unlink()


def test_what_somebody_searches_for_is_only_ever_text(page: RunningServer) -> None:
    answer = page.get("/journal?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&plan=%22%3E%3Cb%3E")
    assert answer.status == 200
    assert "<script>alert" not in answer.text
    assert "<b>" not in answer.text


# -- other addresses -------------------------------------------------------------------------------


@pytest.mark.thorough
def test_another_address_needs_a_word_and_says_what_that_means(project: Program) -> None:
    with serving(project, "--host", "0.0.0.0") as running:
        log = (project.workspace / ".page-log").read_text()
        assert "everybody who reaches 0.0.0.0" in log
        assert "no encryption" in log
        assert "name one address to be reached by it" in log
        assert running.host == "127.0.0.1", "the link is one that this machine's browser can follow"
        assert running.enter().status == 200
    with serving(project, "--host", "127.0.0.2") as running:
        assert running.host == "127.0.0.2"
        assert running.enter().status == 200
    for wrong in ("evil.example", "localhost", "300.1.1.1"):
        refused = project.run("page", "--host", wrong)
        assert refused.code == 2
        assert "expected an IP address" in refused.err


def test_nothing_is_served_from_the_inside_of_a_cell(project: Program) -> None:
    refused = project.run("page", PLANBOUND_ATTEMPT="1")
    assert refused.code == 2
    assert "inside of a cell" in refused.err


# -- files of others -------------------------------------------------------------------------------


VENDORED = {
    "htmx.min.js": "HTMX",
    "hx-sse.min.js": "SSE",
    "htmx.LICENSE": "LICENSE",
}


def test_the_scripts_of_others_are_the_ones_that_were_looked_at() -> None:
    folder = Path(planbound.page.__file__).parent / "static"
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    noted = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    assert set(noted) == set(VENDORED)
    for name, digest in noted.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    assert "Zero-Clause BSD" in (folder / "htmx.LICENSE").read_text()
    assert os.listdir(folder)
