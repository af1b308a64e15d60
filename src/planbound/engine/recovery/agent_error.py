"""The kinds of error that agents and their libraries report by name."""

from __future__ import annotations

from typing import NamedTuple

from planbound.engine.recovery.failure import FailureClass
from planbound.plan.suggest import fold

_T, _P, _I = FailureClass.TRANSIENT, FailureClass.PERMISSION, FailureClass.INVALID_INPUT
_A = FailureClass.AGENT


class ErrorKind(NamedTuple):
    """Names that mean the same."""

    rule: str
    kind: FailureClass
    names: str


ERROR_KINDS = (
    ErrorKind(
        "agent-error-rate-limit",
        _T,
        "rate-limit rate-limited rate-limit-exceeded too-many-requests throttled throttling"
        " resource-exhausted",
    ),
    ErrorKind(
        "agent-error-service",
        _T,
        "overloaded server server-error internal internal-server api service-unavailable"
        " unavailable bad-gateway gateway-timeout temporarily-unavailable",
    ),
    ErrorKind(
        "agent-error-network",
        _T,
        "connection connection-reset connection-refused api-connection network dns timeout"
        " timed-out api-timeout request-timeout deadline-exceeded",
    ),
    ErrorKind("agent-error-memory", _T, "out-of-memory oom"),
    ErrorKind(
        "agent-error-missing-credential", _P, "missing-credential missing-api-key no-api-key"
    ),
    ErrorKind(
        "agent-error-authentication",
        _P,
        "authentication authentication-failed auth unauthorized unauthenticated invalid-api-key"
        " not-logged-in login-required token-expired",
    ),
    ErrorKind("agent-error-permission", _P, "permission permission-denied forbidden access-denied"),
    ErrorKind(
        "agent-error-quota",
        _P,
        "quota insufficient-quota quota-exceeded billing credit usage-limit payment-required",
    ),
    ErrorKind(
        "agent-error-input",
        _I,
        "invalid-request bad-request invalid-argument invalid-input validation not-found"
        " model-not-found unprocessable-entity request-too-large usage schema",
    ),
    ErrorKind("agent-error-context", _I, "context-length context-length-exceeded prompt-too-long"),
    ErrorKind(
        "agent-error-not-installed",
        FailureClass.UNRUNNABLE,
        "not-installed command-not-found not-executable unsupported-version",
    ),
    ErrorKind("agent-error-crashed", _A, "crashed"),
    ErrorKind(
        "agent-error-turns",
        _A,
        "max-turns max-iterations max-requests max-steps max-tokens requests-exhausted no-progress",
    ),
    ErrorKind(
        "agent-error-format",
        _A,
        "invalid-response malformed-response unexpected-model-behavior api-response-validation"
        " json-decode repeated-format invalid-tool-call malformed-tool-call"
        " malformed-function-call incomplete-tool-call",
    ),
    ErrorKind("agent-error-hung", FailureClass.HUNG, "hung stalled idle idle-timeout"),
    ErrorKind(
        "agent-error-budget",
        FailureClass.BUDGET,
        "budget budget-exceeded max-budget max-budget-usd",
    ),
    ErrorKind("agent-error-disk", FailureClass.UNRECOVERABLE, "disk-full no-space"),
    ErrorKind("agent-error-workspace", FailureClass.WORKSPACE_MISMATCH, "workspace-mismatch"),
)
"""Each name is read in any spelling: `rate_limit_error`, `RateLimitError`, `rate limit`."""


def error_kind(text: str) -> ErrorKind | None:
    """Return what a reported kind of error means; None where it is not a known name.

    A name may be followed by words: `authentication: log in first`. Then it is spelled as here.
    """
    name, colon, _ = text.partition(": ")
    for known in ERROR_KINDS if colon else ():
        if name in known.names.split():
            return known
    if len(text) > 80:
        return None
    word = fold(text.rpartition(".")[2])
    for known in ERROR_KINDS:
        if any(word in _spellings(name) for name in known.names.split()):
            return known
    return None


def _spellings(name: str) -> tuple[str, ...]:
    plain = fold(name)
    return (plain, f"{plain}error", f"{plain}exception", f"error{plain}")
