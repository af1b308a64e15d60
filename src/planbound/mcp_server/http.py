"""The server over HTTP: on loopback only, and only for who has the token."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable
from functools import partial

import anyio
import uvicorn
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from planbound.errors import UsageError
from planbound.mcp_server.server import PlanServer

HOST = "127.0.0.1"
PATH = "/mcp"
_LARGEST_BODY = 4 * 1024 * 1024


class Bearer:
    """Lets nobody through without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or refuse it."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(given, self._expected):
                refusal = JSONResponse(
                    {"error": "the token is missing or wrong"},
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def serve_http(
    server: PlanServer, *, port: int, token: str, listening: Callable[[str], None]
) -> None:
    """Serve until the process is told to stop; `listening` gets the address."""
    app = server.streamable_http_app(
        streamable_http_path=PATH, host=HOST, max_request_body_size=_LARGEST_BODY
    )
    try:
        door = socket.create_server((HOST, port))
    except OSError as error:
        raise UsageError(f"port {port} cannot be listened on: {error.strerror}") from error
    config = uvicorn.Config(Bearer(app, token), log_level="warning", lifespan="on", ws="none")
    try:
        server.calls.begin()
        listening(f"http://{HOST}:{door.getsockname()[1]}{PATH}")
        anyio.run(partial(uvicorn.Server(config).serve, sockets=[door]))
    finally:
        door.close()
        server.calls.close()
