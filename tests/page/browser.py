"""A page that runs, and somebody who holds its cookie: requests word for word, over a socket."""

from __future__ import annotations

import os
import re
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.program import Program


class Answer(NamedTuple):
    """What the page answered."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "surrogateescape")

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return found[0] if found else None


def read_answer(data: bytes) -> Answer:
    """Return what a connection that was closed said."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    status = int(first.split()[1])
    headers = tuple((name.strip(), value.strip()) for name, _, value in
                    (line.partition(":") for line in rest))  # fmt: skip
    if ("transfer-encoding", "chunked") in {(key.lower(), value) for key, value in headers}:
        body = _unchunked(body)
    return Answer(status, headers, body)


def _unchunked(data: bytes) -> bytes:
    found = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            break
        found, data = found + rest[:length], rest[length + 2 :]
    return found


class RunningServer:
    """`planbound page` as a process."""

    def __init__(self, process: subprocess.Popen[bytes], link: str) -> None:
        self.process = process
        self.link = link
        found = urlsplit(link)
        assert found.hostname is not None
        assert found.port is not None
        self.host, self.port = found.hostname, found.port
        self.address = f"http://{self.host}:{self.port}"
        self.cookie = ""

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=120)

    def raw(self, data: bytes) -> Answer:
        """Send bytes, and read what comes until the page closes the connection."""
        with self.connect() as connection:
            connection.sendall(data)
            found = bytearray()
            while chunk := connection.recv(65536):
                found += chunk
        return read_answer(bytes(found))

    def ask(
        self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """Ask for something; of the usual headers only `Host`, unless others are given."""
        given = {"Host": f"{self.host}:{self.port}", **(headers or {}), "Connection": "close"}
        if body:
            given["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
        return self.raw(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body)

    def enter(self) -> Answer:
        """Exchange the link for the cookie."""
        answer = self.ask("GET", self.link.removeprefix(self.address))
        cookie = answer.header("set-cookie")
        assert cookie is not None, answer.text
        self.cookie = cookie.partition(";")[0]
        return answer

    def get(self, target: str, **headers: str) -> Answer:
        """Open a page as somebody who entered."""
        return self.ask("GET", target, {"Cookie": self.cookie, **headers})

    def post(self, target: str, fields: Mapping[str, str], **headers: str) -> Answer:
        """Send a form as a browser does that entered."""
        usual = {
            "Cookie": self.cookie,
            "Origin": self.address,
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.ask(
            "POST", target, usual | headers, urlencode(fields, errors="surrogateescape").encode()
        )

    def submit(self, target: str, action: str, **fields: str) -> Answer:
        """Open a page, and send one of its forms."""
        page = self.get(target)
        return self.post(action, {**hidden_fields(page.text, action), **fields})

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)


def hidden_fields(page: str, action: str) -> dict[str, str]:
    """Return what a form of a page has that nobody sees."""
    form = re.search(rf'<form[^>]*action="{re.escape(action)}"[^>]*>(.*?)</form>', page, re.DOTALL)
    assert form is not None, f"there is no form for {action}"
    return {
        match["name"]: match["value"]
        for match in re.finditer(
            r'<input type="hidden" name="(?P<name>[^"]*)" value="(?P<value>[^"]*)"', form[1]
        )
    }


@contextmanager
def serving(
    program: Program, *options: str, word: str = "page", **extra: str
) -> Iterator[RunningServer]:
    """Serve a page for as long as the block lasts; nobody has entered yet."""
    port = () if "--port" in options else ("--port", "0")
    command = [sys.executable, *program.program, word, *port, *options]
    log = Path(program.workspace, ".page-log")
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            cwd=program.workspace,
            env={**program.environment(), **extra},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdout is not None
    try:
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            assert ready.select(timeout=120), log.read_text(errors="replace")
        link = os.read(process.stdout.fileno(), 10_000).decode().strip()
        assert link, log.read_text(errors="replace")
        yield RunningServer(process, link)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
