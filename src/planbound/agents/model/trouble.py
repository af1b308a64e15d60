"""What goes wrong between us and a model, by the names that recovery knows."""

from __future__ import annotations

import math

from pydantic_ai import exceptions

from planbound.agents.model.toolbox import RepeatedError

_LONGEST = 2000
_NAMES: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.ModelAuthenticationError, "authentication"),
    (exceptions.ModelQuotaExceededError, "quota"),
    (exceptions.ModelRateLimitError, "rate-limit"),
    (exceptions.ModelOverloadedError, "overloaded"),
    (exceptions.ModelUnavailableError, "service-unavailable"),
    (exceptions.ModelServerError, "server-error"),
    (exceptions.ModelTimeoutError, "timeout"),
    (exceptions.ModelRequestTimeout, "timeout"),
    (exceptions.ModelConnectionError, "connection"),
    (exceptions.ModelContextWindowExceededError, "context-length"),
    (exceptions.ModelNotFoundError, "model-not-found"),
    (exceptions.ModelRequestRejectedError, "invalid-request"),
    (exceptions.UsageLimitExceeded, "max-turns"),
    (exceptions.IncompleteToolCall, "incomplete-tool-call"),
    (exceptions.UnexpectedModelBehavior, "unexpected-model-behavior"),
    (RepeatedError, "no-progress"),
)
"""The first one counts that fits."""
CONTEXT_LENGTH = "context-length"
CUT_OFF = (exceptions.ModelConnectionError, exceptions.ModelRequestTimeout)
"""What ends a request that the service may have worked on."""


def error_name(error: Exception) -> str:
    """Return the kind of an error; its message where it is of no kind that is known."""
    for kind, name in _NAMES:
        if isinstance(error, kind):
            return name
    if isinstance(error, exceptions.ModelHTTPError):
        return "server-error" if error.status_code >= 500 else "invalid-request"
    return _message(error)


def describe(error: Exception, variable: str | None) -> str:
    """Return what a person is told, and what recovery reads how long to wait from."""
    lines = [_message(error)]
    if isinstance(error, exceptions.ModelAuthenticationError) and variable is not None:
        lines.append(f"The service did not take the credential in {variable}.")
    if isinstance(error, exceptions.ModelAPIError) and error.retry_after is not None:
        lines.append(f"retry-after: {math.ceil(error.retry_after)}")
    return "\n".join(lines)


def _message(error: Exception) -> str:
    text = str(error).strip()
    kind = type(error).__name__
    return f"{kind}: {text}"[:_LONGEST] if text else kind
