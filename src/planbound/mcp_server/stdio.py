"""The server over standard input and output, as most clients start it."""

from __future__ import annotations

import anyio

from planbound.mcp_server.server import PlanServer


def serve_stdio(server: PlanServer) -> None:
    """Serve one client until it closes our standard input."""
    try:
        server.calls.begin()
        anyio.run(server.run_stdio_async)
    finally:
        server.calls.close()
