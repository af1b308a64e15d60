"""Frontmatter as it nearly always looks, read without the YAML library.

Loading that library takes 15 ms, which every command would pay. So `key: word`,
`key: [a, b]` and `key:` with `- item` lines are read here, in a subset in which every YAML reader
agrees; at the first line that is anything else we give up, and the library is asked.
"""

from __future__ import annotations

import re

from planbound.plan.frontmatter.value import Pairs, Sequence, Value
from planbound.source import Located, Source, Span
from planbound.source.pattern import lazy_pattern

# Words that mean the same plain or quoted: no indicator of YAML in them but a later `*` or `-`.
_PLAIN = r"[A-Za-z0-9_./][A-Za-z0-9_./*@+-]*(?: [A-Za-z0-9_./(@+][A-Za-z0-9_./*@+()-]*)*"
_SCALAR = rf"(?:{_PLAIN}|\"[^\"\\\n]*\"|'[^'\n]*')"
_COMMENT = r"(?:[ \t]+#.*)?[ \t]*"
_LINE = lazy_pattern(
    rf"(?P<key>[A-Za-z_][A-Za-z0-9_-]*):(?:[ \t]+(?:(?P<scalar>{_SCALAR})"
    rf"|\[[ \t]*(?P<flow>{_SCALAR}(?:[ \t]*,[ \t]*{_SCALAR})*)?[ \t]*\]))?{_COMMENT}"
)
_ITEM = lazy_pattern(rf"(?P<indent>[ ]*)-[ ]+(?P<scalar>{_SCALAR}){_COMMENT}")
_SCALARS = lazy_pattern(_SCALAR)
_NOTHING = lazy_pattern(r"[ \t]*(?:#.*)?")


def read_plain(source: Source, first: int, after: int) -> Pairs | None:
    """Return the keys and values of some lines; None where the library has to be asked."""
    pairs: Pairs = []
    items: list[Located[str]] = []
    indent = -1
    for number in range(first, after):
        line, start = source.lines[number], source.line_starts[number]
        if match := _LINE.fullmatch(line):
            key = Located(match["key"], Span(start, start + match.end("key")))
            pairs.append((key, _value(match, line, start)))
            items, indent = [], -1
        elif (match := _ITEM.fullmatch(line)) and pairs and _takes_items(pairs[-1][1], items):
            if indent not in {-1, len(match["indent"])}:
                return None
            indent = len(match["indent"])
            items.append(_located(match["scalar"], start + match.start("scalar")))
            span = Span(items[0].span.start, items[-1].span.end)
            pairs[-1] = (pairs[-1][0], Sequence(tuple(items), span))
        elif not _NOTHING.fullmatch(line):
            return None
    return pairs


def _takes_items(value: Value, items: list[Located[str]]) -> bool:
    """Say whether a list may stand below: behind an empty value, or behind its first item."""
    return bool(items) or (isinstance(value, Located) and not value.value)


def _value(match: re.Match[str], line: str, start: int) -> Value:
    if match["scalar"] is not None:
        return _located(match["scalar"], start + match.start("scalar"))
    opening = line.find("[", match.end("key"))
    closing = line.rfind("]", 0, match.end())
    if match["flow"] is not None or (opening >= 0 and "#" not in line[:opening]):
        flow, offset = match["flow"] or "", start + max(match.start("flow"), 0)
        items = tuple(_located(m.group(), offset + m.start()) for m in _SCALARS.finditer(flow))
        return Sequence(items, Span(start + opening, start + closing + 1))
    place = start + match.end("key") + 1
    return Located("", Span(place, place))


def _located(written: str, start: int) -> Located[str]:
    value = written[1:-1] if written[0] in "\"'" else written
    return Located(value, Span(start, start + len(written)))
