"""The end of an output, read from its last line up: what a program says last is why it ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.recovery.output_signs import OUTPUT_SIGNS
from planbound.engine.recovery.sign import OutputSign
from planbound.source.pattern import lazy_pattern

READ = 20_000
"""How many characters at the end of an output are looked at."""
PIECE = 500
"""How much of a line is shown at once to patterns whose cost nobody knows."""
_COLOUR = lazy_pattern(r"\x1b\[[0-9;?]{0,32}[@-~]")
# What a test runner reports as passed, lines of a difference, and lines of a program.
_REPORT = lazy_pattern(
    r"\s{0,40}(?:[✓✔√]|ok \d|PASS(?:ED)?\b|--- PASS|\+|-(?:\s{2}|[^\s\w-])|@@ |diff --git "
    r"|#\s|//\s|(?:except|raise|return|elif|def|import|assert)\s)"
)
_PASSED = lazy_pattern(r"(?:\bPASSED\b.{0,12}|\.\.\. ok|\bpassed)\s{0,4}$")
# Somebody tells of such a failure; it did not happen.
_TOLD_BEFORE = lazy_pattern(
    r"\b(?:no|not|0|zero|without|never|fix(?:e[sd])?|handl(?:es?|ed|ing)|simulat(?:es?|ed|ing)"
    r"|mock(?:s|ed|ing)?|add(?:s|ed)?|expect(?:s|ed|ing)?|rais(?:es?|ing)|returns"
    r"|tests? (?:for|of|that)|cover(?:s|ed|ing)?|test_\w{0,80})\s"
    r"(?:(?:a|an|the|on|more|any|for|of|with) ){0,2}[\"'`(]{0,2}$|\berrno\.$",
    re.IGNORECASE,
)
_TOLD_AFTER = lazy_pattern(
    r"[\"'`)]{0,2}\s(?:handl(?:ing|ers?)|tests?|logic|middleware|support|branch|cases?|retries)\b",
    re.IGNORECASE,
)


class Sighting(NamedTuple):
    """A sign, and the line that it was found in."""

    sign: OutputSign
    line: int


def lines_of(*texts: str | None) -> tuple[str, ...]:
    """Return the lines at the end of each text, without colours."""
    found: list[str] = []
    for text in texts:
        if text:
            found += _COLOUR.sub("", text[-READ:]).splitlines()
    return tuple(found)


def pieces_of(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines, long ones in pieces that overlap by half."""
    return tuple(
        line[start : start + PIECE]
        for line in lines
        for start in range(0, max(1, len(line) - PIECE // 2), PIECE // 2)
    )


def find_sign(lines: Sequence[str]) -> Sighting | None:
    """Return the sign that stands last; in one line, the first of the table."""
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index].strip()
        if not line or _REPORT.match(line) or _PASSED.search(line):
            continue
        for sign in OUTPUT_SIGNS:
            if _shows(sign, line):
                return Sighting(sign, index)
    return None


def _shows(sign: OutputSign, line: str) -> bool:
    if sign.unless is not None and sign.unless.search(line):
        return False
    for match in sign.pattern.finditer(line):
        before = line[max(0, match.start() - 120) : match.start()]
        if not (_TOLD_BEFORE.search(before) or _TOLD_AFTER.match(line, match.end())):
            return True
    return False
