"""The connections of the page: each has an end, and no stream holds up the end of the page."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from planbound.errors import UsageError
from planbound.page.far_end import FarEnds
from planbound.page.live import LiveStream
from planbound.workspace.configuration import USUAL_PAGE_PORT

_MOST_SOCKETS = 700
"""Of more not even a request is read."""
_CROWDED = 100
"""Of so many connections other users of this machine get no more."""
_WHOLE_REQUEST = 10.0
"""In seconds: so long a connection may say nothing, or only half of a request."""
_WHOLE_BODY = 65.0
"""In seconds: so long what follows a request may take, also where nobody reads it any more."""
_SENT_WITHIN: Mapping[object, float] = {h11.IDLE: _WHOLE_REQUEST, h11.SEND_BODY: _WHOLE_BODY}
_READ_WITHIN = 60.0
"""In seconds: so long an answer may lie there unread."""

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Connection(H11Protocol):
    """A connection with an end: what is to come has its time, and so has what is to be read."""

    far_ends: ClassVar[FarEnds | None] = None
    _timer: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _waits_for: object = None
    """What the other side has to send, as the library of the protocol calls it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Begin to wait for the first request."""
        super().connection_made(transport)
        # The files of plans have to be opened, too; and no other user takes all places.
        count = len(self.connections)
        if count > _MOST_SOCKETS or (count > _CROWDED and self._is_of_another_user()):
            self.connections.discard(self)  # the next one is not counted with it
            transport.abort()
            return
        self._wait()

    def _is_of_another_user(self) -> bool:
        if self.far_ends is None or self.client is None or self.server is None:
            return False
        host, port = self.server
        return port is not None and self.far_ends.is_other_user(self.client, (host, port))

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        for each in (self._timer, self._reading):
            if each is not None:
                each.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Take in what came."""
        super().handle_events()
        self._wait()

    def _wait(self) -> None:
        """Give what has to come next its time, however slowly it trickles in."""
        if self.conn.their_state is self._waits_for:
            return
        self._waits_for = self.conn.their_state
        if self._timer is not None:
            self._timer.cancel()
        seconds = _SENT_WITHIN.get(self._waits_for)
        self._timer = self.loop.call_later(seconds, self.transport.abort) if seconds else None

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request, with what goes with every answer."""
        words = f"{msg}\n".encode("ascii", "replace")
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"),
                   (b"content-length", b"%d" % len(words)),
                   *self.config.encoded_headers]  # fmt: skip
        answer = (h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                  h11.Data(data=words), h11.EndOfMessage())  # fmt: skip
        self.transport.write(b"".join(self.conn.send(each) or b"" for each in answer))
        self.transport.close()

    def on_response_complete(self) -> None:
        """Go on to the next request, or end; what is left has to be read."""
        super().on_response_complete()
        self._end_unread()

    def timeout_keep_alive_handler(self) -> None:
        """End a connection that asks for nothing more."""
        super().timeout_keep_alive_handler()
        self._end_unread()

    def _end_unread(self) -> None:
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self.pause_writing()

    def pause_writing(self) -> None:
        """Wait for somebody to read: who never does holds no place."""
        super().pause_writing()
        if self._reading is None:
            self._reading = self.loop.call_later(_READ_WITHIN, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        if self._reading is not None and not self.transport.is_closing():
            self._reading.cancel()
            self._reading = None


def connections_with(ends: FarEnds) -> type[Connection]:
    """Return connections that tell other users apart where many come."""

    class ConnectionTold(Connection):
        far_ends = ends

    return ConnectionTold


class PageServer(uvicorn.Server):
    """Ends what is followed when it is told to stop: nobody waits for a stream to end."""

    def __init__(self, config: uvicorn.Config, live: LiveStream) -> None:
        super().__init__(config)
        self._live = live

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take each word to end for the same, and return then: what is left is put in order.

        The server's own way gives the signal back once all is closed, and that kills us there.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in _ENDS}
        for number, handler in before.items():
            # Whoever starts us with a signal ignored, as `nohup` does, wants it to stay so.
            if handler is not signal.SIG_IGN:
                signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            for number, handler in before.items():
                if handler is not None:
                    signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin; the first answer, too, has what goes with every one."""
        self.server_state.default_headers = list(self.config.encoded_headers)
        await super().startup(sockets)

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
