"""What went wrong at the service behind an agent, in words by which it is recognised."""

from __future__ import annotations

from planbound.engine.recovery.agent_error import error_kind
from planbound.engine.recovery.output import find_sign, lines_of

_LONGEST = 2000
_PHRASES = (
    ("overloaded", ("high demand", "at capacity", "overload")),
    (
        "connection reset",
        (
            "stream disconnected", "error decoding response", "stream decode error", "terminated",
            "other side closed", "socket hang up", "premature close", "fetch failed",
            "transport error", "network error", "connection error", "closed unexpectedly",
        ),
    ),
    ("invalid api key", ("unauthenticated", "not logged in", "auth method", "authenticate")),
    ("prompt is too long", ("context window", "context length", "maximum context",
      "contextwindow", "token limit")),
)  # fmt: skip
"""How programs tell of what is known by another name."""


_BROKEN_OFF = frozenset({"agent-error-network", "agent-network", "agent-tls"})


def is_broken_off(error: str | None) -> bool:
    """Say whether an error is that of a connection which broke in the middle of a request."""
    if not error:
        return False
    if (known := error_kind(error)) is not None:
        return known.rule in _BROKEN_OFF
    seen = find_sign(lines_of(error))
    return seen is not None and seen.sign.rule in _BROKEN_OFF


def service_error(message: str, status: int | None = None) -> str:
    """Return an error of the service; `status` is that of HTTP, where it is told apart."""
    message = " ".join(message.split())[:_LONGEST]
    if status is not None and 400 <= status < 600:
        return f"status {status}: {message}"
    if not message:
        return "unknown error"
    if error_kind(message) is not None or find_sign(lines_of(message)) is not None:
        return message
    lowered = message.lower()
    for name, phrases in _PHRASES:
        if any(phrase in lowered for phrase in phrases):
            return f"{name}: {message}"
    return message
