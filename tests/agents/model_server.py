"""A model that says what a script tells it, for programs that expect a real one.

In a test: `with ModelServer(Script([Reply(shell="make"), Reply("Done.")])) as model: ...`, then
`model.url`, `model.asked`. As a process, which prints its address first:
`python -m tests.agents.model_server SCRIPT.json [--port N] [--record FILE] [--key KEY]`.
"""

import argparse
import json
import re
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.agents.dialects import Chat, Dialect, Responses, call_of
from tests.agents.gemini_dialect import Gemini
from tests.agents.script import Asked, Reply, Script, script_from

PATIENCE = 60.0
GEMINI = re.compile(r"/v1(beta)?/models/[^/:]+:(?P<verb>\w+)")


class ModelServer:
    """Serves a script on a free port of this machine while its `with` block lasts."""

    address = "127.0.0.1"
    """What it listens on."""

    def __init__(
        self,
        script: Script | Iterable[Reply],
        *,
        key: str | None = None,
        port: int = 0,
        record: Path | None = None,
        without: str | None = None,
    ) -> None:
        self.script = script if isinstance(script, Script) else Script(script)
        self.key = key
        """Where it is set, a request without it is answered with 401."""
        self.asked: list[Asked] = []
        """All that was asked, in order."""
        self.arrived = threading.Condition()
        self.without = without
        """How the address ends of what it does not speak."""
        self._record = record
        self._server = _Server((self.address, port), _Handler)
        self._server.model = self

    @property
    def url(self) -> str:
        """The address without a path; OpenAI's clients want `/v1` after it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self) -> None:
        """Serve until the process ends."""
        self._server.serve_forever()

    def wait_for(self, count: int) -> list[Asked]:
        """Return what was asked as soon as it is so much."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.asked) >= count, PATIENCE)
            return list(self.asked)

    def answer(self, asked: Asked) -> Reply:
        """Remember a request; return its reply."""
        with self.arrived:
            self.asked.append(asked)
            if self._record is not None:
                with self._record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asked._asdict()) + "\n")
            self.arrived.notify_all()
        if self.key is not None and self.key not in _credentials(asked):
            return Reply(status=401)
        return self.script.next(asked)


def _credentials(asked: Asked) -> set[str]:
    headers = asked.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return {bearer, headers.get("x-goog-api-key", "")}


class _Server(ThreadingHTTPServer):
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away; all else is a fault of ours."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        if self.path.split("?")[0].endswith("/models"):
            model = {"id": "scripted", "object": "model", "created": 1, "owned_by": "planbound"}
            self._send(200, {"object": "list", "data": [model]})
        else:
            self._send(404, {"error": {"message": f"no such page: {self.path}"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.split("?")[0]
        gemini = GEMINI.fullmatch(path)
        without = self.server.model.without
        if without is not None and path.endswith(without):
            self._send(404, {"error": {"message": f"no such page: {self.path}"}})
        elif gemini and gemini["verb"] == "countTokens":
            self._send(200, {"totalTokens": 100})
        elif gemini:
            self._speak(Gemini(), body, stream=gemini["verb"] == "streamGenerateContent")
        elif path.endswith("/chat/completions"):
            self._speak(Chat(), body, stream=bool(body.get("stream")))
        elif path.endswith("/responses"):
            self._speak(Responses(), body, stream=bool(body.get("stream")))
        else:
            self._send(404, {"error": {"message": f"no such page: {self.path}"}})

    def _speak(self, dialect: Dialect, body: dict[str, Any], *, stream: bool) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.model.answer(dialect.read(self.path, headers, body))
        call = call_of(reply, dialect.offered(body))
        if reply.shell is not None and call is None:
            reply = Reply(status=400, message="no tool of this request runs a shell command")
        time.sleep(reply.delay)
        if reply.status != 200:
            self._send(reply.status, dialect.error(reply), retry_after=reply.retry_after)
        elif stream:
            self._stream(dialect.pieces(body, reply, call), reply)
        else:
            self._send(200, dialect.whole(body, reply, call), cut=reply.cut)

    def _send(
        self, status: int, body: Any, *, retry_after: int | None = None, cut: bool = False
    ) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection = self.close_connection or cut

    def _stream(self, pieces: Sequence[str], reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        middle = len(pieces) // 2
        for index, piece in enumerate(pieces):
            if index == middle:
                time.sleep(reply.stall)
                if reply.cut:
                    self.close_connection = True
                    return
            content = piece.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is given
        """Say nothing."""


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.agents.model_server")
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--key")
    told = parser.parse_args(arguments)
    script = script_from(told.script)
    model = ModelServer(script, key=told.key, port=told.port, record=told.record)
    print(model.url, flush=True)
    model.serve()


if __name__ == "__main__":
    main(sys.argv[1:])
