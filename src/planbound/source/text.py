"""A text with its name and its lines.

Bytes that are not UTF-8 are kept as lone surrogates, so that what was read can be written back
byte for byte.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from planbound.source.pattern import lazy_pattern
from planbound.source.span import Span

BOM = "\ufeff"

# Markdown knows these three line ends and no other: a form feed or U+2028 is a character.
_LINE_END = lazy_pattern(r"\r\n|\n|\r")
_SURROGATE = lazy_pattern("[\ud800-\udfff]")


class Source:
    """One text: immutable, with line and column of every offset."""

    def __init__(self, *, path: str, text: str) -> None:
        self.path = path
        self.text = text

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str) -> Source:
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
        match = _SURROGATE.search(self.text)
        return Span(match.start(), match.end()) if match else None
