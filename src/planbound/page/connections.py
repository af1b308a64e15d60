"""The connections of the page: silence is not waited for, and no stream holds up the end."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from planbound.errors import UsageError
from planbound.page.live import LiveStream
from planbound.workspace.configuration import USUAL_PAGE_PORT

_FIRST_REQUEST = 10.0
"""In seconds: so long a connection may say nothing, or only half of a request."""


class Connection(H11Protocol):
    """A connection that is closed where no request comes from it; later ones have a time, too."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(_FIRST_REQUEST, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Take in what came."""
        super().handle_events()
        if self.cycle is not None:
            self._wait_no_more()

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()


class PageServer(uvicorn.Server):
    """Ends what is followed when it is told to stop: nobody waits for a stream to end."""

    def __init__(self, config: uvicorn.Config, live: LiveStream) -> None:
        super().__init__(config)
        self._live = live

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close everything."""
        self._live.stop()
        await super().shutdown(sockets)


def listen(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; without a port at the usual one, or at a free one."""
    if port is None:
        with suppress(UsageError):
            return listen(host, USUAL_PAGE_PORT)
        return listen(host, 0)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        where = f"port {port}" if port else "a port"
        why = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(f"{where} of `{host}` cannot be listened on: {why}") from error
