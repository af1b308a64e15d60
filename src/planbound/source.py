"""Places in a text, and what is wrong there."""

import enum
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, cast

# -- where something stands in a text ------------------------------------------------------------


T_co = TypeVar("T_co", covariant=True)


class Span(NamedTuple):
    """A half-open range of characters of a source's text."""

    start: int
    end: int


class Located(NamedTuple, Generic[T_co]):
    """A value, and where it was written."""

    value: T_co
    span: Span


# -- regular expressions that are compiled when they are first used ------------------------------


class _Lazy:
    """Stands for a compiled pattern; each method is looked up once."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self._flags), name)
        self.__dict__[name] = value
        return value


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves like `re.compile(text, flags)`."""
    return cast("re.Pattern[str]", _Lazy(text, flags))


# -- A text with its name and its lines ----------------------------------------------------------


BOM = "\ufeff"

# Markdown knows these three line ends and no other: a form feed or U+2028 is a character.
_LINE_END = lazy_pattern(r"\r\n|\n|\r")


class Source:
    """One text: immutable, with line and column of every offset."""

    def __init__(self, *, path: str, text: str) -> None:
        self.path = path
        self.text = text

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str) -> "Source":
        """Decode as UTF-8, keeping what is not UTF-8."""
        return cls(path=path, text=data.decode("utf-8", "surrogateescape"))

    def to_bytes(self) -> bytes:
        """Return exactly the bytes that the text was made from."""
        # A caller may hand in a lone surrogate that no byte stands behind: it has no UTF-8 form.
        try:
            return self.text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return self.text.encode("utf-8", "surrogatepass")

    @cached_property
    def line_starts(self) -> list[int]:
        """Return the offset of the first character of every line."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines without their ends."""
        return _LINE_END.split(self.text)

    @cached_property
    def newline(self) -> str:
        """Return the line end that the text uses first."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both counted from 1."""
        line = bisect_right(self.line_starts, offset) - 1
        return line + 1, offset - self.line_starts[line] + 1

    def line_span(self, line: int) -> Span:
        """Return the span of a line (counted from 0) without its end."""
        start = self.line_starts[line]
        return Span(start, start + len(self.lines[line]))

    def lines_span(self, first: int, after: int) -> Span:
        """Return the span of the lines from `first` up to, not including, `after`."""
        if after <= first:
            return Span(self.line_starts[first], self.line_starts[first])
        return Span(self.line_starts[first], self.line_span(after - 1).end)

    def slice(self, span: Span) -> str:
        """Return the text of a span with its line ends as LF."""
        return _LINE_END.sub("\n", self.text[span.start : span.end])

    def undecodable(self) -> Span | None:
        """Return the first place that is not UTF-8."""
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            return Span(error.start, error.start + 1)
        return None


def has_surrogate(text: str) -> bool:
    """Say whether a text holds a lone surrogate: a byte that was not UTF-8, or worse."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


# -- what is wrong with a text: code, place, message, hint ---------------------------------------


class Severity(enum.Enum):
    """How bad it is: an error keeps a plan from being verified, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Finding(NamedTuple):
    """One fault at one place, before the rule's code and severity are put on it."""

    span: Span
    message: str
    hint: str | None = None


class Diagnostic(NamedTuple):
    """One fault, ready to be shown. Lines and columns count from 1, ends are exclusive."""

    code: str
    rule: str
    severity: Severity
    path: str
    span: Span
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    hint: str | None


def diagnose(
    finding: Finding, *, source: Source, code: str, rule: str, severity: Severity
) -> Diagnostic:
    """Give a finding its place in the source and the identity of its rule."""
    line, column = source.position(finding.span.start)
    end_line, end_column = source.position(finding.span.end)
    return Diagnostic(
        code=code,
        rule=rule,
        severity=severity,
        path=source.path,
        span=finding.span,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        message=finding.message,
        hint=finding.hint,
    )


# -- make what a terminal would hide or obey visible ---------------------------------------------


# Control characters (a tab may stay), soft hyphen, zero-width and bidirectional marks, tag
# characters, lone surrogates: the ones that make a text look other than it is.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff"
)
INVISIBLE = lazy_pattern(f"[{_HIDDEN}]")
_ESCAPED = lazy_pattern(f"[{_HIDDEN}\uef80-\uefff]")
_UNSEEN = lazy_pattern(f"[{_HIDDEN}\uef80-\uefff]+")
_TICKS = lazy_pattern(r"`{3,}")


def hides_nothing(text: str) -> bool:
    """Say whether a text is plain: nothing but printable ASCII, line feeds and tabs."""
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()


def visible(text: str) -> str:
    """Return a text as part of one line: what is invisible, and line ends, as escapes."""
    return visible_lines(text).replace("\n", "\\n")


def visible_lines(text: str) -> str:
    """Return a text of several lines with every invisible character written as an escape."""
    return text if hides_nothing(text) else _ESCAPED.sub(_escape, text)


def told_apart(text: str) -> Iterator[tuple[str, str]]:
    """Yield what can be seen of a text, each with the invisible characters that follow it."""
    if hides_nothing(text):
        yield text, ""
        return
    start = 0
    for match in _UNSEEN.finditer(text):
        yield text[start : match.start()], match.group()
        start = match.end()
    yield text[start:], ""


def _escape(match: re.Match[str]) -> str:
    character = ord(match.group())
    if 0xDC80 <= character <= 0xDCFF or 0xEF80 <= character <= 0xEFFF:  # a byte, not UTF-8
        return f"\\x{character & 0xFF:02x}"
    if character <= 0xFF:
        return f"\\x{character:02x}"
    if character <= 0xFFFF:
        return f"\\u{character:04x}"
    return f"\\U{character:08x}"


# -- names that are no text: a file may be called by any bytes ------------------------------------


_NO_TEXT = lazy_pattern("[\ud800-\udfff\uef80-\uefff]")


def storable(text: str) -> str:
    """Return a text as JSON can hold it: each byte that is not UTF-8 as one character.

    It is U+EF00 and the byte. What is such a character itself is written as its bytes, so that
    `restored` knows what was there. So is half of a character, which no file can be called by, but
    which JSON of a product can hold.
    """
    if text.isascii() or not _NO_TEXT.search(text):
        return text
    return _NO_TEXT.sub(_as_characters, text)


def _as_characters(match: re.Match[str]) -> str:
    try:
        data = match.group().encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = match.group().encode("utf-8", "surrogatepass")
    return "".join(chr(0xEF00 + byte) for byte in data)


def restored(text: str) -> str:
    """Return the text that `storable` was given."""
    data = bytearray()
    for character in text:
        byte = 0xEF80 <= ord(character) <= 0xEFFF
        data += bytes([ord(character) & 0xFF]) if byte else character.encode()
    return data.decode("utf-8", "surrogateescape")


def storable_json(value: object) -> object:
    """Return a value of JSON with every text in it as JSON can hold it."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list | tuple):
        return [storable_json(item) for item in value]
    if isinstance(value, dict):
        return {storable_json(key): storable_json(item) for key, item in value.items()}
    return value


def fenced(text: str, info: str = "") -> str:
    """Return a text as a block that it cannot close itself."""
    longest = max((len(match) for match in _TICKS.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{text.rstrip()}\n{fence}"


# -- the quoted line with a caret under the fault ------------------------------------------------


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
    carets = "^" * max(1, columns_of(marked))
    return [quoted, f"{' ' * len(gutter)} | {' ' * (len(left) + columns_of(before))}{carets}"]


def _plain(text: str) -> str:
    return visible(text.replace("\t", "    "))


def columns_of(text: str) -> int:
    """Return how many terminal cells a text takes."""
    return sum(
        0 if unicodedata.combining(character) else 1 + (_is_wide(character)) for character in text
    )


def fitting(text: str, columns: int) -> str:
    """Return as much of a text as a line of a terminal has room for."""
    while text and columns_of(text) > columns:
        text = text[: min(len(text) - 1, columns)]
    return text


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
