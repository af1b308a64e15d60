"""Speaks to a server by lines of JSON, so that any version and any nonsense can be said."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NEWEST = "2026-07-28"
OLDER = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


class RawClient:
    """A server as a process, while the `with` block lasts."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.words = words
        self.cwd = cwd
        self.environment = dict(os.environ) if environment is None else dict(environment)
        self.notes: list[dict[str, Any]] = []
        """Everything that came and was no answer to a request."""
        self._count = 0

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-m", *self.words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env=self.environment,
        )
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
