"""What a shell command says: frozen values, each with its place in the text."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from planbound.source import lazy_pattern

if TYPE_CHECKING:
    from tree_sitter import Node


# -- what a shell command says: frozen values, each with its place in the text -------------------


class Word(Struct, frozen=True):
    """One word of a command."""

    text: str
    """As written, with its quotes."""
    value: str | None
    """Without quotes; None where the shell puts something in."""
    start: int
    end: int


class Redirect(Struct, frozen=True):
    """Where input comes from, or where output goes."""

    operator: str
    target: Word
    directory: str | None
    """Where a relative target starts; None where that is not certain."""
    optional: bool
    """Whether the script can do without the file."""

    @property
    def feeds(self) -> bool:
        """Whether this is input."""
        return self.operator.startswith("<")


class ShellAssignment(Struct, frozen=True):
    """`NAME=value`, by itself or before a command."""

    name: str
    value: Word | None
    start: int
    end: int


class Call(Struct, frozen=True):
    """A simple command, seen through wrappers such as `env`, `timeout` and `npx`."""

    name: str | None
    """The program; None where the shell puts it in, or where there are only assignments."""
    program: str
    """The name without directory and Python's version; empty where there is none."""
    word: Word | None
    """Where the name stands."""
    arguments: tuple[Word, ...]
    assignments: tuple[ShellAssignment, ...]
    redirects: tuple[Redirect, ...]
    wrappers: tuple[Word, ...]
    """The programs in front that start this one."""
    start: int
    end: int
    negated: bool
    """Whether `!` turns its exit code around."""
    background: bool
    fed: bool
    """Whether it has an input: from a pipe, a file or a here-document."""
    nested: bool
    """Whether it stands in a substitution, so that its output is used."""
    optional: bool
    """Whether the script may do without it: in a condition, a branch, before `|| true`."""
    limited: bool
    """Whether it runs under `timeout`."""
    provided: bool
    """Whether a wrapper brings the program along, so that it need not be on PATH."""
    directory: str | None
    """Where it runs, seen from the workspace root; None where that is not certain."""
    body: StatementList | None = None
    """The script behind `bash -c`."""

    def values(self) -> list[str]:
        """Return the arguments as the program gets them; empty where the shell puts them in."""
        return [word.value or "" for word in self.arguments]

    def has(self, *options: str) -> bool:
        """Say whether an option is given: `-x` also in a cluster, `--long` also with a value."""
        for word in self.arguments:
            value = word.value or word.text
            if value == "--":
                return False
            if value[:1] == "-" and any(_is_option(value, option) for option in options):
                return True
        return False

    def operands(self, valued: frozenset[str] = frozenset()) -> Iterator[Word]:
        """Yield the arguments that are neither options nor values of the options `valued`."""
        skip = only = False
        for word in self.arguments:
            value = word.value or ""
            if skip:
                skip = False
            elif only or value[:1] != "-" or value == "-":
                yield word
            elif value == "--":
                only = True
            else:
                skip = value in valued


def _is_option(value: str, option: str) -> bool:
    if option.startswith("--"):
        return value == option or value.startswith(f"{option}=")
    if len(option) == 2:
        return value[1] != "-" and option[1] in value[1:] if len(value) > 1 else False
    return value == option


class StatementList(Struct, frozen=True):
    """Statements one after the other."""

    items: tuple[Statement, ...]
    start: int
    end: int


class Chain(Struct, frozen=True):
    """Statements joined by `&&` and `||`."""

    items: tuple[Statement, ...]
    operators: tuple[str, ...]
    """One less than items."""
    start: int
    end: int


class Pipeline(Struct, frozen=True):
    """Statements joined by `|`; or a single one behind `!`."""

    items: tuple[Statement, ...]
    negated: bool
    start: int
    end: int


class Subshell(Struct, frozen=True):
    """`( ... )`."""

    body: StatementList
    start: int
    end: int


class Branches(Struct, frozen=True):
    """`if` and `case`: at most one of the bodies runs."""

    conditions: tuple[StatementList, ...]
    bodies: tuple[StatementList, ...]
    complete: bool
    """Whether one of them always runs."""
    start: int
    end: int


class LoopKind(enum.Enum):
    """What keeps a loop going."""

    EACH = "for"
    WHILE = "while"
    UNTIL = "until"


class Loop(Struct, frozen=True):
    """`for`, `while`, `until`, `select`."""

    kind: LoopKind
    condition: StatementList | None
    body: StatementList
    start: int
    end: int


class Background(Struct, frozen=True):
    """`statement &`."""

    item: Statement
    start: int
    end: int


class Function(Struct, frozen=True):
    """A definition; what it does counts where it is called."""

    name: str
    body: Statement
    start: int
    end: int


class Unread(Struct, frozen=True):
    """What could not be made sense of."""

    start: int
    end: int


Statement = (
    Call
    | StatementList
    | Chain
    | Pipeline
    | Subshell
    | Branches
    | Loop
    | Background
    | Function
    | Unread
)


class FileUse(enum.Enum):
    """What a command does with a file that it names."""

    READ = "read"
    EXISTS = "exists"
    """Only asked whether it is there."""
    EXECUTED = "executed"
    TESTED = "tested"
    """Given to a test runner."""
    CONFIGURED = "configured"
    """Says what the command does: a Makefile, a configuration."""
    WRITTEN = "written"


class FileReference(Struct, frozen=True):
    """A file or directory of the workspace that a command needs or makes."""

    path: str
    """Seen from the workspace root, without `./` and without a `/` at the end."""
    use: FileUse
    start: int
    end: int
    optional: bool = False
    """Whether the command can do without it, or may make it itself."""


class ToolReference(Struct, frozen=True):
    """A program that a command needs."""

    name: str
    start: int
    end: int


class Script(Struct, frozen=True):
    """A shell command, understood."""

    text: str
    block: StatementList
    calls: tuple[Call, ...]
    """Every simple command, in order, also those in substitutions, functions and `bash -c`."""
    functions: frozenset[str]
    heredocs: tuple[tuple[int, int], ...]
    """Where the here-documents stand: start and end."""
    files: tuple[FileReference, ...]
    tools: tuple[ToolReference, ...]
    pipefail: bool
    """Whether a pipeline fails when any of its commands does."""
    broken: bool
    """Whether some of it could not be read; then no files and no tools are named."""


# -- the words of a command without their quotes -------------------------------------------------


_ESCAPED = lazy_pattern(r"\\(\n|.|$)", re.DOTALL)
_ESCAPED_IN_QUOTES = lazy_pattern(r"\\([\n$`\"\\])")
_ESCAPED_ANSI = lazy_pattern(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_BRACES = lazy_pattern(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


def words(text: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(text.split())


def unescape(text: str) -> str:
    """Return a word that has no quotes but backslashes."""
    return _ESCAPED.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def unquote(text: str) -> str:
    """Return what stands in double quotes."""
    if "\\" not in text:
        return text[1:-1]
    return _ESCAPED_IN_QUOTES.sub(lambda match: "" if match[1] == "\n" else match[1], text[1:-1])


def unquote_ansi(text: str) -> str:
    """Return what stands in `$'...'`."""
    return _ESCAPED_ANSI.sub(_ansi, text[2:-1])


def _ansi(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ANSI.get(code, code)


def has_braces(text: str) -> bool:
    """Say whether the shell would make several words of this one: `{a,b}`, `{1..3}`."""
    return _BRACES.search(text) is not None


# -- where a command runs, and what its relative paths mean there --------------------------------


_PLAIN = lazy_pattern(r"[^./][^/]*(?:/[^./][^/]*)*")


def below(directory: str | None, path: str) -> str | None:
    """Return a path as seen from the workspace root; None where it is not certain or outside."""
    if directory is None or path.startswith(("/", "~")):
        return None
    if not directory and _PLAIN.fullmatch(path):
        return path
    parts: list[str] = []
    for part in f"{directory}/{path}".split("/") if directory else path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def change_directory(directory: str | None, name: str, arguments: Sequence[Word]) -> str | None:
    """Return where `cd` leads to."""
    given = [word for word in arguments if word.text not in {"--", "-P", "-L"}]
    if name == "popd" or len(given) != 1 or given[0].value is None:
        return None
    target = given[0].value
    return None if target[:1] in {"", "-", "+"} or "*" in target else below(directory, target)


# -- the nodes of the shell grammar, as far as they are used -------------------------------------


REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
EXPRESSIONS = frozenset(
    {
        "binary_expression",
        "unary_expression",
        "parenthesized_expression",
        "postfix_expression",
        "ternary_expression",
    }
)

_OPERATORS = frozenset({"&&", "||"})
_GIVES_UP = re.compile(rb"(?:^|[\s;{(])(?:(?:exit|return)(?:\s+[^0\s]|\s*(?:[;})]|$))|false\b)")


class ChainLink(Struct, frozen=True):
    """One link of a chain."""

    operator: str
    """What joins it to the one before."""
    node: Node
    redirects: tuple[Node, ...]


def named(node: Node) -> list[Node]:
    """Return the children that are more than tokens and comments."""
    return [child for child in node.children if child.is_named and child.type != "comment"]


def body_of(node: Node) -> tuple[Node | None, tuple[Node, ...]]:
    """Return the statement of a redirected statement, and its redirects."""
    children = named(node)
    redirects = tuple(child for child in children if child.type in REDIRECTS)
    return next((child for child in children if child.type not in REDIRECTS), None), redirects


def links_of(node: Node, redirects: tuple[Node, ...]) -> list[ChainLink]:
    """Return the links of a chain, which the grammar nests to the left."""
    parts: list[ChainLink] = []
    while True:
        if node.type == "redirected_statement":
            body, own = body_of(node)
            if body is None or body.type != "list":
                break
            # `a && b > log`: the grammar redirects the chain, the shell its last link.
            node, redirects = body, (*own, *redirects)
        if node.type != "list":
            break
        children: list[Node] = []
        operator = ""
        for child in node.children:
            kind = child.type
            if kind in _OPERATORS:
                operator = kind
            elif child.is_named and kind != "comment":
                children.append(child)
        if len(children) < 2 or not operator:
            break
        parts.append(ChainLink(operator, children[-1], redirects))
        node, redirects = children[0], ()
    parts.append(ChainLink("", node, redirects))
    return parts[::-1]


def optional_links(parts: Sequence[ChainLink], data: bytes) -> list[bool]:
    """Say for each link of a chain whether the script may go on well without its success."""
    if all(part.operator != "||" for part in parts) and b"exit" not in data:
        return [False] * len(parts)
    ends = [
        bool(_GIVES_UP.search(data[part.node.start_byte : part.node.end_byte])) for part in parts
    ]
    return [_is_optional(index, parts, ends) for index in range(len(parts))]


def _is_optional(index: int, parts: Sequence[ChainLink], ends: Sequence[bool]) -> bool:
    if parts[index].operator == "||":
        return True
    for following in range(index + 1, len(parts)):
        if parts[following].operator == "||":
            return not ends[following]
        # `test -f old.py && exit 1`: the file had better not be there.
        if ends[following]:
            return True
    return False
