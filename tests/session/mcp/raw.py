"""Speaks to a server by lines of JSON, so that any version and any nonsense can be said."""

import contextlib
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.client._transport import TransportStreams
from mcp.server.stdio import stdio_server

from tests.forked import Place, Started
from tests.program import Program

NEWEST = "2026-07-28"
OLDER = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def serving(program: Program, *arguments: str, **extra: str) -> Started:
    """Start `planbound mcp` in a fork."""
    place = program.place(program.workspace, program.environment(**extra))
    return Started(["mcp", *arguments], place._replace(libraries="mcp"), talks=True)


def made_up(folder: Path) -> Started:
    """Start the server whose loop is made up, in a fork."""
    words = ["tests.session.mcp.fake", str(folder)]
    return Started(words, Place(folder, os.environ, libraries="mcp"), talks=True, module=True)


@asynccontextmanager
async def spoken_to(process: Started) -> AsyncIterator[TransportStreams]:
    """Connect a client of the library to a server, whose standard streams are pipes."""
    assert process.stdin is not None
    assert process.stdout is not None
    heard, said = TextIOWrapper(process.stdout, "utf-8"), TextIOWrapper(process.stdin, "utf-8")
    # The lines look the same from both sides.
    with process, heard, said:
        async with stdio_server(anyio.wrap_file(heard), anyio.wrap_file(said)) as streams:
            try:
                yield streams
            finally:
                said.close()
                try:
                    await anyio.to_thread.run_sync(partial(process.wait, timeout=20))
                finally:
                    process.kill()


class RawClient:
    """What speaks to a server while the `with` block lasts."""

    def __init__(self, process: Started) -> None:
        self.process = process
        self.notes: list[dict[str, Any]] = []
        """Everything that came and was no answer to a request."""
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def notify(self, method: str) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method}).encode())

    def send(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Ask, and wait for nothing."""
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params or {}}
        self.write(json.dumps(message).encode())
        return self._count

    def read(self) -> dict[str, Any]:
        """Return the next line, whatever it is; no line is an error."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        message: dict[str, Any] = json.loads(line)
        return message

    def answer(self, to: int) -> dict[str, Any]:
        """Return the answer to a request."""
        while True:
            message = self.read()
            if message.get("id") == to and "method" not in message:
                return message
            self.notes.append(message)

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(self.send(method, params))

    def greet(self, version: str = OLDER[-1]) -> dict[str, Any]:
        """Shake hands as clients before the newest version do."""
        told = self.ask(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        )
        self.notify("notifications/initialized")
        result: dict[str, Any] = told["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its result."""
        result: dict[str, Any] = self.ask("tools/call", {"name": tool, "arguments": arguments})[
            "result"
        ]
        return result

    def end(self) -> int:
        """Close its standard input; return how it ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=20)
