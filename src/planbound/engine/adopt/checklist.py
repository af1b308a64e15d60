"""Lists of Markdown as tasks: check boxes, numbers, what is nested in them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from planbound.engine.adopt.prose import one_line
from planbound.plan.frontmatter import frontmatter_lines
from planbound.plan.markdown import Block, BlockKind, read_blocks
from planbound.plan.outline import heading_text
from planbound.source import Source
from planbound.source.pattern import lazy_pattern

_ITEM = lazy_pattern(
    r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s+|$)(?:\[(?P<box>[ xX])\](?:\s+|$))?(?P<words>.*)"
)


class Item(NamedTuple):
    """An item of a list that is a task."""

    line: int
    """Counted from 1."""
    words: str
    """Its first paragraph, on one line."""
    detail: str
    """What else stands in it, without the tasks that are nested in it."""
    ticked: bool | None
    """None where it has no box."""
    number: str
    """In a numbered list: its number, with those of the items around it."""
    place: str
    section: int
    """Which heading of the file, by count, it stands under."""
    children: tuple[Item, ...]


class Document:
    """A Markdown file: its blocks, its first heading, its items."""

    def __init__(self, text: str) -> None:
        self.source = Source(path="", text=text)
        self.blocks = read_blocks(self.source, skip=frontmatter_lines(self.source))

    @property
    def title(self) -> str:
        """The first heading of level 1."""
        return next((self.heading(b) for b in self.blocks if _is_title(b)), "")

    def heading(self, block: Block) -> str:
        """Return the text of a heading."""
        return one_line(heading_text(self.source, block))

    def lines(self, first: int, after: int) -> str:
        """Return some lines as one text."""
        return "\n".join(self.source.lines[first:after]).strip("\n")

    def under(self, heading: str) -> str:
        """Return what stands under a heading, up to the next one."""
        for index, block in enumerate(self.blocks):
            if block.kind is BlockKind.HEADING and self.heading(block).casefold() == heading:
                following = (b for b in self.blocks[index + 1 :] if b.kind is BlockKind.HEADING)
                end = next((b.line for b in following), len(self.source.lines))
                return self.lines(block.after, end)
        return ""

    def boxes(self) -> tuple[Item, ...]:
        """Return the items with a check box."""
        return tuple(self._items(lambda box, _: box is not None))

    def numbered(self) -> tuple[Item, ...]:
        """Return the items of numbered lists."""
        return tuple(self._items(lambda _, number: bool(number)))

    def _items(self, is_task: Callable[[str | None, str], bool]) -> Iterator[Item]:
        reader = _ItemReader(self.source, is_task)
        for block in self.blocks:
            if block.kind is BlockKind.HEADING:
                reader.section += 1
                reader.place = "" if _is_title(block) else self.heading(block)
            elif block.kind is BlockKind.LIST:
                yield from reader.read(block, "")


class _ItemReader:
    def __init__(self, source: Source, is_task: Callable[[str | None, str], bool]) -> None:
        self.source = source
        self.is_task = is_task
        self.place = ""
        self.section = 0

    def read(self, block: Block, outer: str) -> Iterator[Item]:
        for index, item in enumerate(block.children):
            number = "" if block.ordinal is None else f"{outer}{block.ordinal + index}"
            nested = f"{number}." if number else outer
            children = tuple(
                found
                for inner in item.children
                if inner.kind is BlockKind.LIST
                for found in self.read(inner, nested)
            )
            match = _ITEM.match(self.source.lines[item.line])
            if match is None or not self.is_task(match["box"], number):
                yield from children
            else:
                yield self._item(item, match, number, children)

    def _item(
        self, item: Block, match: re.Match[str], number: str, children: tuple[Item, ...]
    ) -> Item:
        first = item.children[0] if item.children else None
        after = item.line + 1
        if first is not None and first.kind is BlockKind.PARAGRAPH:
            after = max(after, first.after)
        words = [match["words"], *self.source.lines[item.line + 1 : after]]
        taken = {line for inner in item.children for line in self._taken(inner)}
        rest = [self.source.lines[n] for n in range(after, item.after) if n not in taken]
        return Item(
            line=item.line + 1,
            words=one_line(" ".join(words)),
            detail=textwrap.dedent("\n".join(rest).expandtabs(4)).strip("\n"),
            ticked=None if match["box"] is None else match["box"] != " ",
            number=number,
            place=self.place,
            section=self.section,
            children=children,
        )

    def _taken(self, block: Block) -> Iterator[int]:
        """Yield the lines of nested items that are tasks of their own."""
        if block.kind is not BlockKind.LIST:
            return
        for item in block.children:
            match = _ITEM.match(self.source.lines[item.line])
            number = "" if block.ordinal is None else "1"
            if match is not None and self.is_task(match["box"], number):
                yield from range(item.line, item.after)
            else:
                for inner in item.children:
                    yield from self._taken(inner)


def inside_out(items: Iterable[Item]) -> Iterator[Item]:
    """Yield all items, those that are nested in one before it: it is done when they are."""
    for item in items:
        yield from inside_out(item.children)
        yield item


def _is_title(block: Block) -> bool:
    return block.kind is BlockKind.HEADING and block.level == 1
