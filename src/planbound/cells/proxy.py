"""The one way out of a cell that may reach a few hosts: a proxy in the harness.

The sockets that it listens on are made in the cell, whose network has nothing else, and handed
over. Where this is gone, there is no way out at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from planbound.cells.egress import (
    Address,
    Destination,
    Traffic,
    address_of,
    is_listed,
    local_ports,
    may_connect,
)

_HEAD = 32 << 10
"""The longest head of a request, in bytes."""
_PIECE = 64 << 10
_HEAD_SECONDS = 15.0
_CONNECT_SECONDS = 20.0
_MOST_OPEN = 256
_MOST_NAMES = 200
_LONGEST_NAME = 120
_OTHERS = "others"
_OWN_HEADERS = ("host", "connection", "keep-alive")


class _RefusedError(Exception):
    """Why a request is not answered by who it was for."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class _Target(NamedTuple):
    host: str
    port: int
    head: bytes
    """What is sent on before all else: nothing, where it is a tunnel."""


class Proxy:
    """Serves one cell, in a thread of its own."""

    def __init__(self, allowed: tuple[Destination, ...]) -> None:
        self.allowed = allowed
        self._ports = local_ports(allowed)
        self._traffic: dict[str, Traffic] = {}
        self._open = 0
        self._held: set[asyncio.Task[None] | None] = set()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._own_end, self.cell_end = socket.socketpair()

    def start(self) -> None:
        """Serve as soon as the cell hands over its sockets, by its end of the pair."""
        self._thread.start()

    def stop(self) -> None:
        """Close everything."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._own_end.close()
        self.cell_end.close()

    def traffic(self) -> tuple[Traffic, ...]:
        """Return what went where, and what was refused."""
        return tuple(self._traffic[name] for name in sorted(self._traffic))

    # -- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        listeners = self._received(self._own_end)
        if listeners:
            asyncio.run(self._serve(listeners))

    def _received(self, channel: socket.socket) -> list[socket.socket]:
        channel.settimeout(0.1)
        while not self._stopped.is_set():
            try:
                _, found, _, _ = socket.recv_fds(channel, 1, len(self._ports) + 1)
            except TimeoutError:
                continue
            except OSError:
                return []
            return [socket.socket(fileno=each) for each in found]
        return []

    async def _serve(self, listeners: list[socket.socket]) -> None:
        handlers: list[Callable[..., Awaitable[None]]] = [self._ask]
        handlers += [self._bridge(port) for port in self._ports]
        servers = []
        for listener, handler in zip(listeners, handlers, strict=True):
            servers.append(await asyncio.start_server(handler, sock=listener, limit=_HEAD))
        await asyncio.to_thread(self._stopped.wait)
        for server in servers:
            server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    def _bridge(self, port: int) -> Callable[..., Awaitable[None]]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            async def target() -> _Target:
                return _Target("127.0.0.1", port, b"")

            await self._served(reader, writer, target, answer=b"")

        return serve

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def target() -> _Target:
            return _read_head(await _head(reader))

        await self._served(reader, writer, target, answer=_status("200 Connection established"))

    async def _served(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        target: Callable[[], Awaitable[_Target]],
        *,
        answer: bytes,
    ) -> None:
        """Serve one connection; whatever happens to it is the end of it alone."""
        self._open += 1
        # Nobody else holds on to a connection that waits: it would be collected as garbage.
        held = asyncio.current_task()
        self._held.add(held)
        try:
            self._refuse_crowd()
            wanted = await target()
            await self._connected(reader, writer, wanted, answer)
        except _RefusedError as refused:
            with contextlib.suppress(OSError):
                writer.write(_status(refused.status, refused.reason))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # whoever asked is gone
        finally:
            self._open -= 1
            self._held.discard(held)
            writer.close()

    def _refuse_crowd(self) -> None:
        if self._open > _MOST_OPEN:
            raise _RefusedError("503 Service Unavailable", "too many connections at once")

    async def _connected(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        wanted: _Target,
        answer: bytes,
    ) -> None:
        name = f"{wanted.host}:{wanted.port}"
        is_bridge = not answer  # its port is on the list
        if not is_bridge and not is_listed(wanted.host, wanted.port, self.allowed):
            self._note(name, refused=1)
            raise _RefusedError("403 Forbidden", f"`{name}` is not on the list of `network`")
        there, back = await self._open_to(wanted, name)
        self._note(name, connections=1)
        try:
            if wanted.head:
                back.write(wanted.head)
                self._note(name, sent=len(wanted.head))
            elif answer:
                writer.write(answer)
            # Where one way breaks, what is on the other still arrives.
            await asyncio.gather(
                self._pump(reader, back, lambda count: self._note(name, sent=count)),
                self._pump(there, writer, lambda count: self._note(name, received=count)),
                return_exceptions=True,
            )
        finally:
            back.close()

    async def _open_to(
        self, wanted: _Target, name: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        trouble = "its name is not known"
        for address in await _addresses(wanted):
            if not may_connect(address, wanted.port, self.allowed):
                trouble = f"it leads to {address}, which is not public and not on the list"
                continue
            try:
                # The address that was looked at, and not the name once more.
                return await asyncio.wait_for(
                    asyncio.open_connection(str(address), wanted.port, limit=_PIECE),
                    _CONNECT_SECONDS,
                )
            except (OSError, TimeoutError) as error:
                trouble = f"{address} does not answer: {error}"
        self._note(name, refused=1)
        raise _RefusedError("502 Bad Gateway", f"`{name}` cannot be reached: {trouble}")

    async def _pump(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        count: Callable[[int], None],
    ) -> None:
        while data := await source.read(_PIECE):
            count(len(data))
            target.write(data)
            await target.drain()
        with contextlib.suppress(OSError):
            target.write_eof()

    def _note(self, name: str, **more: int) -> None:
        """Count something; of very many names only so many are told apart."""
        name = "".join(each if each.isprintable() else "?" for each in name[:_LONGEST_NAME])
        if name not in self._traffic and len(self._traffic) >= _MOST_NAMES:
            name = _OTHERS
        before = self._traffic.get(name, Traffic(name))
        self._traffic[name] = before._replace(
            **{key: getattr(before, key) + value for key, value in more.items()}
        )


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
    except asyncio.LimitOverrunError:
        raise _RefusedError("431 Request Header Fields Too Large", "too long") from None
    except TimeoutError:
        raise _RefusedError("408 Request Timeout", "the request did not come") from None


def _read_head(head: bytes) -> _Target:
    """Return what a request is for, and what is sent on of it."""
    line, *headers = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = line.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _RefusedError("400 Bad Request", "this is no request of HTTP/1")
    method, target, version = words
    if method == "CONNECT":
        host, port = _authority(target)
        return _Target(host, port, b"")
    if not target.lower().startswith("http://"):
        raise _RefusedError("400 Bad Request", "this is a proxy: ask for a whole address")
    place, slash, path = target[len("http://") :].partition("/")
    host, port = _authority(place if ":" in place.rpartition("]")[2] else f"{place}:80")
    kept = [
        each
        for each in headers
        if each.partition(":")[0].strip().lower() not in _OWN_HEADERS
        and not each.lower().startswith("proxy-")
    ]
    # One request a connection: the next one may be for another host.
    lines = [f"{method} {slash or '/'}{path} {version}", f"Host: {place}", *kept]
    lines += ["Connection: close", "", ""]
    return _Target(host, port, "\r\n".join(lines).encode("latin-1"))


def _authority(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port or parts.netloc != text or "@" in text:
        raise _RefusedError("400 Bad Request", "this names no host with a port")
    return host, port


async def _addresses(wanted: _Target) -> list[Address]:
    written = address_of(wanted.host)
    if written is not None:
        return [written]
    loop = asyncio.get_running_loop()
    try:
        found = await asyncio.wait_for(
            loop.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM), _CONNECT_SECONDS
        )
    except (OSError, TimeoutError, UnicodeError):
        return []
    named = (address_of(str(each[4][0]).partition("%")[0]) for each in found)
    return list(dict.fromkeys(address for address in named if address is not None))


def _status(status: str, reason: str = "") -> bytes:
    if not reason:
        return f"HTTP/1.1 {status}\r\n\r\n".encode("latin-1")
    body = f"planbound: {reason}\n".encode("utf-8", "replace")
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
