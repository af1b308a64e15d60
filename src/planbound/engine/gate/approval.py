"""What an approval is bound to, and when it holds no longer."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple


class Method(enum.Enum):
    """How somebody approved."""

    TERMINAL = "terminal"
    """Somebody typed it at a terminal. A program can pretend to be one: no wall by itself."""
    DIGEST = "digest"
    """Somebody named the digest and themselves, without a terminal."""
    SIGNATURE = "signature"
    """A key that is allowed to signed the statement: proof of who it was."""


class Approval(NamedTuple):
    """Somebody's yes to exactly one plan, judged by exactly these judges."""

    nonce: str
    digest: str
    judges: Mapping[str, str]
    configuration: str
    by: str
    method: str
    expires: str | None = None
    """In UTC, as the journal writes times."""
    modifications: tuple[str, ...] = ()


class Standing(NamedTuple):
    """How things are when an approval is looked at."""

    digest: str
    judges: Mapping[str, str]
    configuration: str
    now: str


def approval_of(details: Mapping[str, object]) -> Approval | None:
    """Return the approval in the details of a `GATE_APPROVED`; None where it is not whole."""
    judges, changes = details.get("judges"), details.get("modifications")
    texts = [details.get(name) for name in ("nonce", "digest", "configuration", "by", "method")]
    if not isinstance(judges, dict) or not isinstance(changes, list):
        return None
    if not all(isinstance(text, str) for text in texts):
        return None
    nonce, digest, configuration, by, method = map(str, texts)
    expires = details.get("expires")
    return Approval(
        nonce=nonce,
        digest=digest,
        judges={str(path): str(content) for path, content in judges.items()},
        configuration=configuration,
        by=by,
        method=method,
        expires=expires if isinstance(expires, str) else None,
        modifications=tuple(str(change) for change in changes),
    )


def mismatch(approval: Approval, standing: Standing) -> str | None:
    """Return why an approval does not hold, None where it does."""
    if approval.digest != standing.digest:
        return (
            f"digest changed: {approval.digest[:12]} was approved, this is {standing.digest[:12]}"
        )
    if approval.configuration != standing.configuration:
        return "configuration changed: contracts would run otherwise than was approved"
    for path in sorted({*approval.judges, *standing.judges}):
        if approval.judges.get(path) != standing.judges.get(path):
            return f"judge changed: {path}"
    # Both are in UTC and written alike.
    if approval.expires is not None and approval.expires <= standing.now:
        return f"expired: it held until {approval.expires}"
    return None
