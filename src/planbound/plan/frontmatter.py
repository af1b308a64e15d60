"""The frontmatter: six keys, each with a word or a list of words."""

from __future__ import annotations

import re

from msgspec import Struct

from planbound.plan.model import Fault, Frontmatter, PlanStatus
from planbound.plan.vocabulary import nearest
from planbound.source import BOM, Finding, Located, Source, Span, lazy_pattern

# -- what stands behind a key of the frontmatter -------------------------------------------------


class WordList(Struct, frozen=True):
    """A list of words."""

    items: tuple[Located[str], ...]
    span: Span


class Other(Struct, frozen=True):
    """Anything else: a mapping, a list of lists."""

    span: Span


Value = Located[str] | WordList | Other

Pairs = list[tuple[Located[str], Value]]
"""The keys with their values, in the order of the file."""


# -- frontmatter as it nearly always looks, read without the YAML library ------------------------


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
            pairs[-1] = (pairs[-1][0], WordList(tuple(items), span))
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
        return WordList(items, Span(start + opening, start + closing + 1))
    place = start + match.end("key") + 1
    return Located("", Span(place, place))


def _located(written: str, start: int) -> Located[str]:
    value = written[1:-1] if written[0] in "\"'" else written
    return Located(value, Span(start, start + len(written)))


# -- the frontmatter: six keys, each with a word or a list of words ------------------------------


KEYS = ("type", "status", "owner", "depends_on", "touches", "expected_artifacts")
MAX_LINES = 500
"""Frontmatter is small: a longer one is a file that begins with a rule."""
_MARK = lazy_pattern(r"---[ \t]*$")
_END = lazy_pattern(r"(?:---|\.\.\.)[ \t]*$")
_HINT = "write `key: value` lines between two lines of `---`"


def frontmatter_lines(source: Source) -> int:
    """Return how many lines the frontmatter takes with its marks; 0 where there is none."""
    lines = source.lines
    if not _MARK.match(lines[0].removeprefix(BOM)):
        return 0
    for number in range(1, min(len(lines), MAX_LINES)):
        if _END.match(lines[number]):
            return number + 1
    return 0


def read_frontmatter(source: Source, faults: list[Fault]) -> tuple[Frontmatter, int]:
    """Return the frontmatter and the number of lines that it takes."""
    count = frontmatter_lines(source)
    if count == 0:
        return _absent(source, faults), 0
    span = source.lines_span(1, count - 1)
    pairs = read_plain(source, 1, count - 1)
    if pairs is None:
        pairs = _ask_library(source, span, faults)
    if pairs is None:
        return Frontmatter(span=span, unread=(("", source.slice(span)),)), count
    return _Keys(source, span, faults).read(pairs), count


def _ask_library(source: Source, span: Span, faults: list[Fault]) -> Pairs | None:
    from planbound.plan.frontmatter_yaml import FrontmatterError, read_yaml  # noqa: PLC0415 - it takes 12 ms to load, and is seldom needed

    try:
        return read_yaml(source, span)
    except FrontmatterError as error:
        finding = Finding(error.span, error.reason, _HINT)
        faults.append(Fault("malformed-frontmatter", finding))
        return None


def _absent(source: Source, faults: list[Fault]) -> Frontmatter:
    if _MARK.match(source.lines[0].removeprefix(BOM)):
        message = "the frontmatter has no end"
        hint = "close it with a line that holds only `---`"
        faults.append(Fault("malformed-frontmatter", Finding(source.line_span(0), message, hint)))
    return Frontmatter()


class _Keys:
    """Reads the values key by key."""

    def __init__(self, source: Source, span: Span, faults: list[Fault]) -> None:
        self.source = source
        self.span = span
        self.faults = faults
        self.unread: list[tuple[str, str]] = []

    def read(self, pairs: Pairs) -> Frontmatter:
        values: dict[str, Value] = {}
        for key, value in pairs:
            if key.value in values:
                message = f"`{key.value}` is set twice in the frontmatter"
                self._fault("duplicate-field", key.span, message, "keep one of them")
                self._keep(key.value, value)
            elif key.value not in KEYS:
                self._unknown(key)
                self._keep(key.value, value)
            else:
                values[key.value] = value
        return Frontmatter(
            type=self._word(values, "type"),
            status=self._status(self._word(values, "status")),
            owner=self._word(values, "owner"),
            depends_on=self._list(values, "depends_on"),
            touches=self._list(values, "touches"),
            expected_artifacts=self._list(values, "expected_artifacts"),
            unread=tuple(self.unread),
            span=self.span,
        )

    def _status(self, value: Located[str] | None) -> Located[PlanStatus] | None:
        if value is None:
            return None
        try:
            return Located(PlanStatus(value.value.lower().replace("_", "-")), value.span)
        except ValueError:
            known = ", ".join(status.value for status in PlanStatus)
            message = f"unknown status `{value.value}`"
            hint = f"the harness writes one of {known}; a plan that nobody verified is `draft`"
            self._fault("unknown-status", value.span, message, hint)
            return None

    def _unknown(self, key: Located[str]) -> None:
        near = nearest(key.value, KEYS)
        hint = f"did you mean `{near}`?" if near else f"known keys are {', '.join(KEYS)}"
        message = f"unknown key `{key.value}` in the frontmatter"
        self._fault("unknown-field", key.span, message, hint)

    def _word(self, values: dict[str, Value], key: str) -> Located[str] | None:
        value = values.get(key)
        if isinstance(value, Located):
            return value if value.value else None  # `owner:` alone is an owner that is not set
        if value is not None:
            self._wrong(key, value, "one word")
        return None

    def _list(self, values: dict[str, Value], key: str) -> tuple[Located[str], ...]:
        value = values.get(key)
        match value:
            case WordList():
                return value.items
            case Located():
                return (value,) if value.value else ()
            case Other():
                self._wrong(key, value, "a list such as `[a, b]`")
        return ()

    def _wrong(self, key: str, value: Value, expected: str) -> None:
        self._fault("malformed-frontmatter", value.span, f"`{key}` must be {expected}", _HINT)
        self._keep(key, value)

    def _keep(self, key: str, value: Value) -> None:
        self.unread.append((key, " ".join(self.source.slice(value.span).split())))

    def _fault(self, rule: str, span: Span, message: str, hint: str) -> None:
        self.faults.append(Fault(rule, Finding(span, message, hint)))
