"""Posts an event to an address, signed. Import this only to send: TLS takes long to load."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import quote

from planbound.workspace.notify import Message, Reception, Response, Webhook, is_loopback


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return what a receiver compares: `sha256=` and the HMAC over time, a dot, and the body."""
    signed = timestamp.encode("ascii") + b"." + body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def post(
    webhook: Webhook, message: Message, *, secret: str, timestamp: str, seconds: float
) -> Response:
    """Post one message; everything but a 2xx is a refusal, and no redirect is followed."""
    headers = {
        "Content-Type": "application/json",
        "Connection": "close",
        "User-Agent": "planbound",
        "X-Planbound-Event": message.event,
        "X-Planbound-Delivery": quote(message.id, safe=""),
        "X-Planbound-Timestamp": timestamp,
        "X-Planbound-Signature": signature(secret, timestamp, message.body),
    }
    end = time.monotonic() + seconds
    expired = threading.Event()
    try:
        with contextlib.closing(_connect(webhook, seconds)) as plain:
            if not webhook.secure and not is_loopback(plain.getpeername()[0]):
                return Response(Reception.REFUSED, f"`{webhook.host}` is not this machine")
            with _deadline(plain, end, expired), _http(webhook, plain) as connection:
                connection.request("POST", webhook.path, message.body, headers)
                status = connection.getresponse().status
    except (OSError, HTTPException, UnicodeError) as error:
        late = expired.is_set() or isinstance(error, TimeoutError)
        reason = f"no answer within {seconds:g} s" if late else _said(error)
        return Response(Reception.REFUSED, reason)
    if 200 <= status < 300:
        return Response(Reception.TAKEN)
    why = ", a redirect, which is not followed" if 300 <= status < 400 else ""
    return Response(Reception.REFUSED, f"HTTP status {status}{why}")


def _connect(webhook: Webhook, seconds: float) -> socket.socket:
    return socket.create_connection((webhook.host, webhook.port), timeout=seconds)


@contextlib.contextmanager
def _deadline(plain: socket.socket, end: float, expired: threading.Event) -> Iterator[None]:
    """End the connection at a time: a time limit of a socket is only for each of its reads."""
    other = plain.dup()  # the one that is talked through may be inside TLS by then

    def cut() -> None:
        expired.set()
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, end - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        other.close()


@contextlib.contextmanager
def _http(webhook: Webhook, plain: socket.socket) -> Iterator[HTTPConnection]:
    connection: HTTPConnection
    if webhook.secure:
        context = ssl.create_default_context()
        connection = HTTPSConnection(webhook.host, webhook.port, context=context)
        connection.sock = context.wrap_socket(plain, server_hostname=webhook.host)
    else:
        connection = HTTPConnection(webhook.host, webhook.port)
        connection.sock = plain
    with contextlib.closing(connection):
        yield connection


def _said(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate does not hold: {error.verify_message}"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"it did not answer in HTTP ({type(error).__name__})"
