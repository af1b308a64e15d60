"""Patterns that may take for ever: a repetition of something that repeats itself."""

from __future__ import annotations

from planbound.source.pattern import lazy_pattern

_PART = lazy_pattern(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(|\)[*+?]?|[*+]|\{\d{0,9},?\d{0,9}\}|[^\\\[()*+{]|.", 16
)
_REPEATED_GROUP = lazy_pattern(r"[*+]|\{\d*,\d*\}|\{(?:[2-9]|\d\d+)\}")
_OPEN_REPETITION = lazy_pattern(r"[*+]|\{\d*,\d*\}")


def repeats_a_repetition(text: str) -> bool:
    """Whether a valid regular expression holds such as `(a+)+`."""
    inside = [False]
    """For each group that is open: whether it holds a repetition."""
    for match in _PART.finditer(text):
        part = match.group()
        if part == "(":
            inside.append(False)
        elif part.startswith(")") and len(inside) > 1:
            holds = inside.pop()
            repeated = _REPEATED_GROUP.match(text, match.start() + 1) is not None
            if holds and repeated:
                return True
            inside[-1] |= holds or repeated
        elif _OPEN_REPETITION.fullmatch(part):
            inside[-1] = True
    return False
