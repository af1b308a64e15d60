"""What stands between the tasks, and inside them: paths, commands, references, ticks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from planbound.plan.glob import GlobError, parse_glob
from planbound.plan.markdown import LABEL, Block, BlockKind, read_blocks
from planbound.plan.vocabulary import PLAN_FIELDS, STEP_FIELDS, known_field
from planbound.source import Source
from planbound.source.pattern import lazy_pattern

_FIELDS = (*STEP_FIELDS, *PLAN_FIELDS)
_OPAQUE = frozenset({BlockKind.FENCE, BlockKind.INDENTED, BlockKind.HTML})
_TICK = lazy_pattern(r"(?P<mark>\s*(?:[-*+]|\d{1,9}[.)])\s+)\[[xX]\](?P<rest>(?:\s.*)?)$")
_HEADING = lazy_pattern(r" {0,3}(?P<marks>#{1,6})(?P<rest>[ \t].*)?$")
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


def opaque_lines(blocks: Iterable[Block]) -> set[int]:
    """Return the lines of code and comments, in which nothing is a task, a label or a tick."""
    return {
        line
        for top in blocks
        for block in top.walk()
        if block.kind in _OPAQUE
        for line in range(block.line, block.after)
    }


def open_lines(text: str) -> Iterator[str]:
    """Yield the lines of a Markdown text that are neither code nor comment."""
    source = Source(path="", text=text)
    opaque = opaque_lines(read_blocks(source))
    return (line for number, line in enumerate(source.lines) if number not in opaque)


def softened(text: str) -> str:
    """Return Markdown whose headings, labels and ticks mean nothing in our language."""
    source = Source(path="", text=text)
    opaque = opaque_lines(read_blocks(source))
    lines = (
        line if number in opaque else _soft_line(line) for number, line in enumerate(source.lines)
    )
    return "\n".join(lines).strip("\n")


def _soft_line(line: str) -> str:
    if tick := _TICK.match(line):
        return f"{tick['mark']}[ ]{tick['rest']} (was ticked)"
    if (heading := _HEADING.match(line)) and len(heading["marks"]) < 4:
        return f"####{heading['rest'] or ''}"
    start = len(line) - len(line.lstrip(" "))
    label = LABEL.match(line, start)
    if label is None or (label["inside"] and not known_field(label["name"], _FIELDS)):
        return line
    value = f" {label['inside']}" if label["inside"] else ""
    return f"{line[:start]}{label['name'].strip()}:{value}{line[label.end() :]}"


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
