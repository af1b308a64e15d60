"""A receiver of webhooks on this machine, which does as it is told."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 30.0


class Request(NamedTuple):
    """What came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


class Receiver:
    """Answers with the given status codes one by one, then always with the last."""

    def __init__(self, answers: Sequence[int]) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.arrived = threading.Condition()
        self.held: threading.Event | None = None
        """While it is not set, nobody is answered."""
        self.left_alone = False
        """Whether somebody was held until our own patience ended."""
        self.port = 0

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/hook?of=planbound"

    def wait_for(self, count: int) -> list[Request]:
        """Return the requests as soon as there are so many."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= count, PATIENCE)
            return list(self.requests)

    def take(self, request: Request) -> int:
        """Remember a request; return how it is answered."""
        with self.arrived:
            self.requests.append(request)
            self.arrived.notify_all()
            answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if self.held is not None and not self.held.wait(PATIENCE):
            self.left_alone = True
        return answer


@contextmanager
def receiving(
    *answers: int, port: int = 0, context: ssl.SSLContext | None = None
) -> Iterator[Receiver]:
    """Start a receiver; it ends with the block."""
    receiver = Receiver(answers or (204,))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = receiver.take(Request(self.path, dict(self.headers.items()), body))
            try:
                self.send_response(answer)
                if 300 <= answer < 400:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
            except OSError:
                pass  # whoever asked did not wait

        def do_GET(self) -> None:  # somebody who followed a redirect
            self.send_response(receiver.take(Request(self.path, dict(self.headers.items()), b"")))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that does not trust us

    server = Server(("127.0.0.1", port), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.held is not None:
            receiver.held.set()
        server.shutdown()
        thread.join()
        server.server_close()


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for a condition, within reason."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def wait_until_gone(number: int) -> None:
    """Wait until a process is dead, whether or not somebody asked how it ended."""

    def is_gone() -> bool:
        try:
            stat = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
        except OSError:
            return True
        return stat.rpartition(")")[2].split()[0] in {"Z", "X"}

    wait_until(is_gone)
