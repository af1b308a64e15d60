"""Make what a terminal would hide or obey visible."""

from __future__ import annotations

import re

from planbound.source.pattern import lazy_pattern

# Control characters (a tab may stay), soft hyphen, zero-width and bidirectional marks, tag
# characters, lone surrogates: the ones that make a text look other than it is.
INVISIBLE = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """Return the text with every invisible character written as an escape."""
    return INVISIBLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = ord(match.group())
    if 0xDC80 <= character <= 0xDCFF:  # a byte that was not UTF-8
        return f"\\x{character - 0xDC00:02x}"
    if character <= 0xFF:
        return f"\\x{character:02x}"
    if character <= 0xFFFF:
        return f"\\u{character:04x}"
    return f"\\U{character:08x}"
