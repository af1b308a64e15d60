"""Markdown as a tree of blocks; the only module that knows the Markdown library.

The library (pulldown-cmark through `pyromark`) decides what is a heading, a fence, a list, a
quote or a comment; nothing here guesses structure from the look of a line. One thing is added to
CommonMark: a *label* (`**task:**` at the start of a line) ends a list or a quote above it, where
CommonMark would take the line for a lazy continuation of that list or quote.
"""

from __future__ import annotations

import enum
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import pyromark
from msgspec import Struct

from planbound.source import BOM, Source, Span, has_surrogate, lazy_pattern

MAX_DEPTH = 100
"""Blocks nested deeper than this are read as the text of the block around them."""


class BlockKind(enum.Enum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    FENCE = "fence"
    INDENTED = "indented code"
    LIST = "list"
    ITEM = "item"
    QUOTE = "quote"
    HTML = "html"
    TABLE = "table"
    RULE = "rule"


class Label(Struct, frozen=True):
    """`**name:**` at the start of a line of text.

    `name` is as written, without the colon; `inside` holds the value of `**status: done**`, where
    the value stands within the bold text.
    """

    name: str
    span: Span
    line: int
    inside: str | None = None


class Block:
    """A block of Markdown. Lines count from 0; `after` is the line behind the last one."""

    __slots__ = (
        "after", "children", "closed", "content", "info", "kind", "labels", "level", "line",
        "mark", "ordinal", "text_span",
    )  # fmt: skip

    def __init__(
        self, kind: BlockKind, line: int, after: int, labels: list[Label] | None = None
    ) -> None:
        self.kind = kind
        self.line = line
        self.after = after
        self.level = 0
        """Of a heading: 1 to 6."""
        self.text_span: Span | None = None
        """Of a heading: its text without the marks."""
        self.info = ""
        """Of a fence: what stands behind the opening mark."""
        self.content = ""
        """Of a fence: what stands inside."""
        self.mark = ""
        """Of a fence: its opening mark."""
        self.closed = True
        """Of a fence: whether it has an end."""
        self.ordinal: int | None = None
        """Of an ordered list: its first number."""
        self.children: list[Block] = []
        self.labels: list[Label] = [] if labels is None else labels
        """Of a paragraph: its labels, in order."""

    def walk(self) -> Iterator[Block]:
        """Yield this block and all blocks inside it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


LABEL = lazy_pattern(
    r"(?P<mark>\*\*|__)(?P<name>[^\W\d_][^\n*:：`]{0,40}?)\s*"
    r"(?:[:：]\s*(?P=mark)|(?P=mark)\s*[:：]"
    r"|[:：][ \t]*(?P<inside>[^\n*:：]{1,40})(?P=mark)(?=\s*$))",
    re.MULTILINE,
)


def read_blocks(source: Source, *, skip: int = 0) -> list[Block]:
    """Return the top-level blocks of a source, leaving out its first `skip` lines."""
    # A space and not nothing in place of the byte order mark: columns stay what they are.
    lines = ["" if number < skip else line for number, line in enumerate(source.lines)]
    if lines and lines[0].startswith(BOM):
        lines[0] = " " + lines[0][1:]
    apart = _guess_lazy(lines)
    for _ in range(8):
        reader = _MarkdownReader(source, *_set_apart(lines, apart))
        blocks = reader.read()
        wrong = apart & reader.inside_code()
        if not reader.lazy and not wrong:
            break
        apart = (apart | reader.lazy) - wrong
    return blocks


def _guess_lazy(lines: list[str]) -> set[int]:
    """Return the lines with a label that likely continue a list or a quote lazily.

    A guess saves a second pass over most plans. Where it is wrong (the lines are code), or misses
    one, the parser tells, and the pass is made again.
    """
    found = set()
    for number in range(1, len(lines)):
        line = lines[number]
        if line.lstrip(" ").startswith(("**", "__")):
            before = lines[number - 1]
            mark = before.lstrip(" \t")
            if mark and (mark is not before or mark[0] in ">-+0123456789" or mark[:2] == "* "):
                found.add(number)
    return found


def _set_apart(lines: list[str], apart: set[int]) -> tuple[list[str], list[int]]:
    """Return the lines with an empty one before each of `apart`, and where each comes from."""
    if not apart:
        return lines, list(range(len(lines)))
    new_lines: list[str] = []
    origin: list[int] = []
    for number, line in enumerate(lines):
        if number in apart:
            new_lines.append("")
            origin.append(number)
        new_lines.append(line)
        origin.append(number)
    return new_lines, origin


_OPTIONS = pyromark.Options.ENABLE_TABLES
_LEVELS = {f"H{level}": level for level in range(1, 7)}
_LOST = lazy_pattern("[\ud800-\udfff]")


class _MarkdownReader:
    """One pass over the library's events."""

    def __init__(self, source: Source, lines: list[str], origin: list[int]) -> None:
        self.source = source
        self.lines = lines
        self.origin = origin
        self.text = "\n".join(lines)
        self.lazy: set[int] = set()
        # The library takes no lone surrogates; what stands for them has the same length.
        self.exact = not has_surrogate(self.text)
        self.parsed = self._replaced(self.text)
        self.ascii = self.parsed.isascii()
        self.starts = self._line_starts()
        self.char_starts = self.starts if self.ascii else self._char_starts()
        self.root = Block(BlockKind.QUOTE, 0, len(lines))
        self.stack = [self.root]
        self.implicit: Block | None = None
        self.skipping = 0

    def _line_starts(self) -> list[int]:
        starts, position = [], 0
        for line in self.parsed.split("\n"):
            starts.append(position)
            position += (len(line) if self.ascii else len(line.encode())) + 1
        return starts

    def _char_starts(self) -> list[int]:
        starts, position = [], 0
        for line in self.lines:
            starts.append(position)
            position += len(line) + 1
        return starts

    def read(self) -> list[Block]:
        expecting = False  # the next inline event opens a line of text
        # The library's own types are unions of some fifty dictionaries; we look at six of them.
        events: Iterator[tuple[Any, Any]] = pyromark.events_with_range(
            self.parsed, options=_OPTIONS
        )
        for event, place in events:
            if type(event) is str:
                if event == "Rule":
                    self._leaf(BlockKind.RULE, place)
                else:
                    expecting = event in {"SoftBreak", "HardBreak"}
                continue
            ((name, value),) = event.items()
            if name == "Start":
                expecting = self._start(value, place, expecting=expecting)
            elif name == "End":
                expecting = self._end(value) or expecting
            elif name == "Text":
                expecting = self._text(value, place, expecting=expecting)
            else:
                self._inline(place)
                expecting = False
        return self.root.children

    def inside_code(self) -> set[int]:
        """Return the lines inside code and comments: nothing may be set apart there."""
        opaque = {BlockKind.FENCE, BlockKind.INDENTED, BlockKind.HTML}
        return {
            line
            for top in self.root.children
            for block in top.walk()
            if block.kind in opaque
            for line in range(block.line + 1, block.after)
        }

    # -- events ------------------------------------------------------------------------------

    def _start(self, tag: Any, place: Any, *, expecting: bool) -> bool:
        kind: str
        value: Any
        kind, value = (tag, None) if type(tag) is str else next(iter(tag.items()))
        if kind == "Paragraph":
            self._open(Block(BlockKind.PARAGRAPH, *self._range(place)))
            return True
        if kind not in _CONTAINERS:  # emphasis, link, a row of a table
            self._inline(place)
            if kind == "Strong" and expecting:
                self._label(place["start"])
            return False
        if self.skipping or len(self.stack) > MAX_DEPTH:
            self.skipping += 1
            return False
        block = Block(_CONTAINERS[kind], *self._range(place))
        if kind == "Heading":
            block.level = _LEVELS[value["level"]]
        elif kind == "CodeBlock":
            self._code(block, value, place)
        elif kind == "List":
            block.ordinal = value
        self._open(block)
        return block.kind is BlockKind.ITEM

    def _end(self, tag: Any) -> bool:
        kind = tag if type(tag) is str else next(iter(tag))
        if kind not in _CONTAINERS and kind != "Paragraph":
            return False
        if self.skipping and kind != "Paragraph":
            self.skipping -= 1
            return False
        if kind == "Item" and self.stack[-1].kind is BlockKind.PARAGRAPH:
            self.stack.pop()  # the text of a tight item, which has no paragraph of its own
        if len(self.stack) > 1:
            self.stack.pop()
        return self.stack[-1].kind is BlockKind.ITEM

    def _text(self, value: str, place: Any, *, expecting: bool) -> bool:
        top = self.stack[-1]
        if top.kind is BlockKind.FENCE or top.kind is BlockKind.INDENTED:
            top.content += value if self.exact else self._slice(place)
            return False
        self._inline(place)
        if expecting:
            self._label(place["start"])
        return False

    def _inline(self, place: Any) -> None:
        """Note that there is text here."""
        top = self.stack[-1]
        if top.kind is BlockKind.HEADING:
            self._widen(top, place)
        elif top.kind is BlockKind.ITEM:  # a tight item's text has no paragraph of its own
            self.implicit = Block(BlockKind.PARAGRAPH, *self._range(place))
            self._open(self.implicit)
        elif top is self.implicit:
            top.after = max(top.after, self._range(place)[1])

    # -- blocks ------------------------------------------------------------------------------

    def _open(self, block: Block) -> None:
        top = self.stack[-1]
        if block.kind is not BlockKind.PARAGRAPH and top.kind is BlockKind.PARAGRAPH:
            self.stack.pop()  # a list inside a tight item ends the item's text
        self.stack[-1].children.append(block)
        self.stack.append(block)

    def _leaf(self, kind: BlockKind, place: Any) -> None:
        self._open(Block(kind, *self._range(place)))
        self.stack.pop()

    def _code(self, block: Block, value: Any, place: Any) -> None:
        if type(value) is str:
            block.kind = BlockKind.INDENTED
            return
        block.info = value["Fenced"].strip()
        opening = self._line_of(place["start"])
        mark = self.lines[opening][self._column(place["start"], opening) :]
        length = len(mark) - len(mark.lstrip(mark[:1]))
        last = self._line_of(max(place["start"], place["end"] - 1))
        end = self.lines[last].lstrip(" \t>").rstrip(" \t")
        block.mark = mark[:1] * length
        block.closed = last > opening and len(end) >= length and end == mark[:1] * len(end)

    def _widen(self, heading: Block, place: Any) -> None:
        span = Span(self._offset(place["start"]), self._offset(place["end"]))
        old = heading.text_span
        heading.text_span = Span(old.start, max(old.end, span.end)) if old else span

    def _label(self, start: int) -> None:
        line = self._line_of(start)
        column = self._column(start, line)
        text = self.lines[line]
        match = LABEL.match(text, column)
        if match is None:
            return
        top = self.stack[-1]
        if self._is_lazy(line, column):
            self.lazy.add(self.origin[line])
        base = self.source.line_starts[self.origin[line]]
        top.labels.append(
            Label(
                name=match["name"].strip(),
                span=Span(base + match.start(), base + match.end()),
                line=self.origin[line],
                inside=match["inside"].strip() if match["inside"] else None,
            )
        )

    def _is_lazy(self, line: int, column: int) -> bool:
        """Say whether a line belongs to a list or quote only by not having left it."""
        for container in reversed(self.stack):
            if container.kind is BlockKind.QUOTE and container is not self.root:
                return ">" not in self.lines[line][:column]
            if container.kind is BlockKind.ITEM:
                if self.origin[line] == container.line:
                    return False
                first = self.source.lines[container.line]
                return column < len(first) - len(first.lstrip()) + 2
        return False

    # -- places ------------------------------------------------------------------------------

    def _line_of(self, position: int) -> int:
        return bisect_right(self.starts, position) - 1

    def _column(self, position: int, line: int) -> int:
        length = position - self.starts[line]
        if self.ascii:
            return length
        return len(self.parsed_line(line)[:length].decode("utf-8", "replace"))

    def parsed_line(self, line: int) -> bytes:
        return self._replaced(self.lines[line]).encode()

    def _replaced(self, text: str) -> str:
        return text if self.exact else _LOST.sub("\ufffd", text)

    def _offset(self, position: int) -> int:
        """Return the offset in the source of a place in the parsed text."""
        line = self._line_of(position)
        column = min(self._column(position, line), len(self.lines[line]))
        return self.source.line_starts[self.origin[line]] + column

    def _slice(self, place: Any) -> str:
        ends = []
        for position in (place["start"], place["end"]):
            line = self._line_of(position)
            ends.append(self.char_starts[line] + self._column(position, line))
        return self.text[ends[0] : ends[1]]

    def _range(self, place: Any) -> tuple[int, int]:
        first = self._line_of(place["start"])
        last = self._line_of(max(place["start"], place["end"] - 1))
        while last > first and not self.lines[last].strip(" \t"):
            last -= 1  # the library counts the empty lines behind a list to the list
        return self.origin[first], self.origin[last] + 1


_CONTAINERS = {
    "Heading": BlockKind.HEADING,
    "CodeBlock": BlockKind.FENCE,
    "List": BlockKind.LIST,
    "Item": BlockKind.ITEM,
    "BlockQuote": BlockKind.QUOTE,
    "HtmlBlock": BlockKind.HTML,
    "Table": BlockKind.TABLE,
}
