"""The words of a command without their quotes."""

from __future__ import annotations

import re

from planbound.source.pattern import lazy_pattern

_ESCAPED = lazy_pattern(r"\\(\n|.|$)", re.DOTALL)
_ESCAPED_IN_QUOTES = lazy_pattern(r"\\([\n$`\"\\])")
_ESCAPED_ANSI = lazy_pattern(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_BRACES = lazy_pattern(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


def words(text: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(text.split())


def unescape(text: str) -> str:
    """Return a word that has no quotes but backslashes."""
    return _ESCAPED.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def unquote(text: str) -> str:
    """Return what stands in double quotes."""
    if "\\" not in text:
        return text[1:-1]
    return _ESCAPED_IN_QUOTES.sub(lambda match: "" if match[1] == "\n" else match[1], text[1:-1])


def unquote_ansi(text: str) -> str:
    """Return what stands in `$'...'`."""
    return _ESCAPED_ANSI.sub(_ansi, text[2:-1])


def _ansi(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ANSI.get(code, code)


def has_braces(text: str) -> bool:
    """Say whether the shell would make several words of this one: `{a,b}`, `{1..3}`."""
    return _BRACES.search(text) is not None
