"""What a task list of another tool says, whatever its format."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from planbound.errors import UsageError
from planbound.plan.frontmatter import frontmatter_lines
from planbound.plan.glob import GlobError, parse_glob
from planbound.plan.markdown import Block, BlockKind, read_blocks
from planbound.plan.outline import heading_text
from planbound.source import Source, lazy_pattern

# -- what a task list of another tool says, whatever its format ----------------------------------


class SourceFile(NamedTuple):
    """A file of a task list: its path as people write it, and its text."""

    path: str
    text: str

    @property
    def name(self) -> str:
        """The last component of its path."""
        return self.path.rsplit("/", 1)[-1]


class ForeignTask(NamedTuple):
    """One task as its source has it."""

    id: str
    """What other tasks refer to it by."""
    title: str
    text: str = ""
    """All that the source says about it, as Markdown."""
    place: str = ""
    """The heading that it stands under."""
    whole: str = ""
    """The task that it is a part of."""
    depends: tuple[str, ...] | None = None
    """Ids; None where the source says nothing, and the order of the list counts."""
    touches: tuple[str, ...] = ()
    command: str | None = None
    """A command of the source that shows whether the task is done."""
    status: str = ""
    """`ticked`, or the word of the source for a task that somebody began or gave up."""
    named: bool = True
    """Whether the id is the source's own, and not one that we made to refer to the task."""


class TaskList(NamedTuple):
    """All tasks of a source, in its order."""

    tasks: tuple[ForeignTask, ...]
    objective: str = ""
    context: str = ""
    remarks: tuple[str, ...] = ()
    """What the reader of the source left out or could not make sense of."""


def decoded_json(file: SourceFile) -> Any:
    """Return what a file of JSON holds; raise UsageError where it is none."""
    try:
        return json.loads(file.text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"`{file.path}` is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error
    except (RecursionError, ValueError) as error:
        what = "it nests too deeply, or holds a number without end"
        raise UsageError(f"`{file.path}` is JSON that cannot be read: {what}") from error


# -- what stands between the tasks, and inside them: paths, commands, references, ticks ----------


_CODE = lazy_pattern(r"`([^`\n]+)`")
_PATH = lazy_pattern(r"(?:\./)?[\w@.+-][\w@.+\[\]()-]*(?:/[\w@.+\[\]()-]+)*/?")
_BARE_PATH = lazy_pattern(
    r"(?<![\w./:@~`-])(?:\./)?[\w@.+-][\w@.+\[\]-]*(?:/[\w@.+\[\]-]+)*"
    r"/(?:[\w@+\[\]-][\w@.+\[\]-]*\.[A-Za-z]\w{0,9}(?![\w/])|(?=[\s,.;:)]|$))"
)
_BARE_NAME = lazy_pattern(
    r"(?<![\w./:@~`-])(?:(?:[a-z][\w-]+|[A-Z][A-Z_-]+)(?:\.[\w-]+)*\.(?:py|pyi|toml|json|ya?ml|md|rst|txt"
    r"|[cm]?[jt]sx?|s?css|html|sql|sh|rs|go|java|kt|rb|php|[ch]|[ch]pp|cs|swift|lock|cfg|ini|xml|proto"
    r"|graphql|tf|ipynb|vue|svelte)|\.[a-z][\w.-]{2,})(?![\w/-])"
)
_PRODUCTS = frozenset("node.js next.js vue.js nuxt.js express.js three.js d3.js socket.io".split())
_LINES = lazy_pattern(r":\d[\d,\s:-]*$")
_SPECIAL = lazy_pattern(r"[\[{*?]")
_STATED = lazy_pattern(
    r"\s*[(\[]\s*(?:depends?(?:\s+on)?|dependenc(?:y|ies)|blocked\s+by)\b\s*:?\s*"
    r"(?P<what>[^()\[\]]*)[)\]]",
    re.IGNORECASE,
)
_RUN = lazy_pattern(r"\b(?:run|execute|running|executing)\b:?\s+`([^`\n]+)`", re.IGNORECASE)
_ONLY_CODE = lazy_pattern(r"\s*`([^`\n]+)`\s*\.?\s*")
_COMMAND = lazy_pattern(r"[a-z./][\w./+-]*(?:\s+\S.*)?")


def one_line(text: str) -> str:
    """Return a text on one line, with single blanks."""
    return " ".join(text.split())


def paths_in(text: str) -> tuple[str, ...]:
    """Return the paths in a sentence: those with a slash and an ending, or in backticks."""
    found = [match[1] for match in _CODE.finditer(text) if _names_file(match[1])]
    rest = _CODE.sub(" ", text)
    found += [match.group() for match in _BARE_PATH.finditer(rest)]
    names = (match.group().rstrip(".") for match in _BARE_NAME.finditer(_BARE_PATH.sub(" ", rest)))
    found += [name for name in names if name not in _PRODUCTS]
    return as_patterns(found)


def _names_file(code: str) -> bool:
    """Say whether code in backticks is a file or folder, and no call, command or type."""
    last = _LINES.sub("", code.strip())
    if not _PATH.fullmatch(last) or last.startswith("@"):
        return False
    name = last.rstrip("/").rsplit("/", 1)[-1]
    return last.endswith("/") or bool(
        re.fullmatch(r"[^()]*\.[A-Za-z]\w{0,9}", name) and name[0] != "-"
    )


def as_patterns(paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths as patterns of `touches`, each once; what can be none is left out."""
    found: dict[str, None] = {}
    for path in paths:
        bare = _LINES.sub("", path.strip()).removeprefix("./")
        pattern = _SPECIAL.sub(lambda match: f"[{match.group()}]", bare)
        try:
            parse_glob(pattern)
        except GlobError:
            continue
        if not re.search(r"[\s,`\"']", pattern):
            found[pattern] = None
    return tuple(found)


def stated_dependencies(text: str, ids: re.Pattern[str]) -> tuple[str, ...] | None:
    """Return the ids that `(depends on ...)` in a text names; None where it names none."""
    found = [found for match in _STATED.finditer(text) for found in ids.findall(match["what"])]
    return tuple(dict.fromkeys(found)) or None


def without_dependencies(text: str) -> str:
    """Return a title without `(depends on ...)`."""
    return _STATED.sub("", text)


def command_in(text: str) -> str | None:
    """Return the one command that a sentence asks to run; None where there is none, or two."""
    whole = _ONLY_CODE.fullmatch(text)
    found = [whole[1]] if whole else [match[1] for match in _RUN.finditer(text)]
    commands = {command.strip() for command in found if _COMMAND.fullmatch(command.strip())}
    command = commands.pop() if len(commands) == 1 else None
    return None if command is None or command.endswith(")") else command


# -- lists of Markdown as tasks: check boxes, numbers, what is nested in them --------------------


_ITEM = lazy_pattern(
    r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s+|$)(?:\[(?P<box>[ xX])\](?:\s+|$))?(?P<words>.*)"
)


class TaskItem(NamedTuple):
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
    children: tuple[TaskItem, ...]


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

    def boxes(self) -> tuple[TaskItem, ...]:
        """Return the items with a check box."""
        return tuple(self._items(lambda box, _: box is not None))

    def numbered(self) -> tuple[TaskItem, ...]:
        """Return the items of numbered lists."""
        return tuple(self._items(lambda _, number: bool(number)))

    def _items(self, is_task: Callable[[str | None, str], bool]) -> Iterator[TaskItem]:
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

    def read(self, block: Block, outer: str) -> Iterator[TaskItem]:
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
        self, item: Block, match: re.Match[str], number: str, children: tuple[TaskItem, ...]
    ) -> TaskItem:
        first = item.children[0] if item.children else None
        after = item.line + 1
        if first is not None and first.kind is BlockKind.PARAGRAPH:
            after = max(after, first.after)
        words = [match["words"], *self.source.lines[item.line + 1 : after]]
        taken = {line for inner in item.children for line in self._taken(inner)}
        rest = [self.source.lines[n] for n in range(after, item.after) if n not in taken]
        return TaskItem(
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


def inside_out(items: Iterable[TaskItem]) -> Iterator[TaskItem]:
    """Yield all items, those that are nested in one before it: it is done when they are."""
    for item in items:
        yield from inside_out(item.children)
        yield item


def _is_title(block: Block) -> bool:
    return block.kind is BlockKind.HEADING and block.level == 1
