"""The quoted line with a caret under the fault."""

from __future__ import annotations

import unicodedata

from planbound.source.diagnostic import Diagnostic
from planbound.source.text import Source
from planbound.source.visible import visible

MAX_WIDTH = 160
"""Longer lines are cut around the fault."""


def excerpt(source: Source, diagnostic: Diagnostic) -> list[str]:
    """Return the quoted line and the line with the carets."""
    line = source.lines[diagnostic.line - 1]
    start = diagnostic.column - 1
    end = diagnostic.end_column - 1 if diagnostic.end_line == diagnostic.line else len(line)
    first = max(0, start - MAX_WIDTH // 2) if len(line) > MAX_WIDTH else 0
    after = min(len(line), first + MAX_WIDTH)
    before = _plain(line[first:start])
    marked = _plain(line[start : min(end, after)])
    rest = _plain(line[min(end, after) : after])
    left, right = ("…" if first else ""), ("…" if after < len(line) else "")
    gutter = str(diagnostic.line)
    quoted = f"{gutter} | {left}{before}{marked}{rest}{right}"
    carets = "^" * max(1, _width(marked))
    return [quoted, f"{' ' * len(gutter)} | {' ' * (len(left) + _width(before))}{carets}"]


def _plain(text: str) -> str:
    return visible(text.replace("\t", "    "))


def _width(text: str) -> int:
    """Return how many terminal cells a text takes."""
    return sum(
        0 if unicodedata.combining(character) else 1 + (_is_wide(character)) for character in text
    )


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
