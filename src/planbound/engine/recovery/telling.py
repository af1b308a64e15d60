"""What went wrong, in the words of what failed: the line of an output that tells most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.recovery.breakdown import last_words
from planbound.engine.recovery.failure import Failed
from planbound.engine.recovery.output import find_sign
from planbound.source.pattern import lazy_pattern
from planbound.source.visible import visible

LONGEST = 300
"""So many characters of an error are kept in an event."""
_LOOKED_AT = 40
_COMPLAINT = lazy_pattern(
    r"(?:[^\s:]{1,80}:\s){0,4}(?:\[?(?i:error|fatal|panic|failure)\b|E\s{2,6}\S|ERR!|npm ERR!"
    r"|(?:\w{1,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception)\b|(?:FAIL|FAILED)\s\S"
    r"|(?i:cannot|can't|could not|couldn't|unable to|failed to)\s)"
)
_EXIT = lazy_pattern(r"exit \d{1,3}(?:, expected \d{1,3})?(?=$|;)")


class Trouble(NamedTuple):
    """What failed in an attempt, and of what."""

    failed: Failed
    error: str
    """The error itself; a whole sentence where nothing tells it."""
    exit_code: int | None = None
    """That of what failed."""


def telling_line(lines: Sequence[str]) -> str:
    """Return the line that says most about why a program failed; empty where it said nothing."""
    if (seen := find_sign(lines)) is not None:
        return one_line(lines[seen.line])
    for line in reversed(lines[-_LOOKED_AT:]):
        if _COMPLAINT.match(line.strip()):
            return one_line(line)
    return one_line(last_words(lines, most=2 * LONGEST))


def contract_error(reason: str, lines: Sequence[str]) -> str:
    """Return why a contract failed; where that is an exit code alone, with what it printed."""
    bare = _EXIT.match(reason)
    line = telling_line(lines) if bare else ""
    if bare is None or not line:
        return reason
    return f"{bare.group()}: {line}{reason[bare.end() :]}"


def one_line(text: str) -> str:
    """Return a text as one line that hides nothing and is not too long."""
    return visible(" ".join(text.split()))[:LONGEST]
