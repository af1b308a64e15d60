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
_STAMP = r"(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,]{1,20}(?:Z|[+-]\d\d:?\d\d)?\]?\s{1,4})?"
_COMPLAINT = lazy_pattern(
    rf"{_STAMP}(?:\S{{1,200}}:\s){{0,4}}(?:[\[✗✖x]?\s?(?i:error|fatal|panic|failure)\b"
    r"|E\s{2,6}\S|npm (?:ERR!|error)\s|Exception in thread "
    r"|(?:\w{1,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception)\b|(?:FAIL|FAILED)\s\S"
    r"|(?i:cannot|can't|could not|couldn't|unable to|failed to)\s)"
)
# What is printed behind an error and says nothing about it.
_AFTERWARDS = lazy_pattern(
    r"npm (?:ERR!|error)\s{1,8}(?:A complete log|/|errno\b)"
    r"|error: (?:aborting due|could not compile)"
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
        return one_line(_message(lines[seen.line]))
    found = _complaints(lines)
    return one_line(_message(found[-1] if found else last_words(lines, most=2 * LONGEST)))


def _complaints(lines: Sequence[str]) -> list[str]:
    return [
        line
        for line in lines[-_LOOKED_AT:]
        if _COMPLAINT.match(line.strip()) and not _AFTERWARDS.match(line.strip())
    ]


def _message(line: str) -> str:
    """Return what an error says that is written as JSON; any other line as it is."""
    text = line.strip()
    if not text.startswith("{"):
        return line
    import json  # noqa: PLC0415 - few write so

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return line
    for key in ("error", "message"):
        value = found.get(key)
        found = value if isinstance(value, dict) else found
        if isinstance(value, str) and value.strip():
            return value
    return line


def contract_error(reason: str, lines: Sequence[str]) -> str:
    """Return why a contract failed; where that is an exit code alone, with what it printed.

    Its first complaint is the one that the others follow from.
    """
    bare = _EXIT.match(reason)
    first = next(iter(_complaints(lines)), "") if bare else ""
    line = one_line(first or (last_words(lines) if bare else ""))
    if bare is None or not line:
        return reason
    return f"{bare.group()}: {line}{reason[bare.end() :]}"


def one_line(text: str) -> str:
    """Return a text as one line that hides nothing and is not too long."""
    return visible(" ".join(text.split()))[:LONGEST]
