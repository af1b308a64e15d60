"""What a shell command says: frozen values, each with its place in the text."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import NamedTuple


class Word(NamedTuple):
    """One word of a command."""

    text: str
    """As written, with its quotes."""
    value: str | None
    """Without quotes; None where the shell puts something in."""
    start: int
    end: int


class Redirect(NamedTuple):
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


class Assignment(NamedTuple):
    """`NAME=value`, by itself or before a command."""

    name: str
    value: Word | None
    start: int
    end: int


class Call(NamedTuple):
    """A simple command, seen through wrappers such as `env`, `timeout` and `npx`."""

    name: str | None
    """The program; None where the shell puts it in, or where there are only assignments."""
    program: str
    """The name without directory and Python's version; empty where there is none."""
    word: Word | None
    """Where the name stands."""
    arguments: tuple[Word, ...]
    assignments: tuple[Assignment, ...]
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
    body: Block | None = None
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


class Block(NamedTuple):
    """Statements one after the other."""

    items: tuple[Statement, ...]
    start: int
    end: int


class Chain(NamedTuple):
    """Statements joined by `&&` and `||`."""

    items: tuple[Statement, ...]
    operators: tuple[str, ...]
    """One less than items."""
    start: int
    end: int


class Pipeline(NamedTuple):
    """Statements joined by `|`; or a single one behind `!`."""

    items: tuple[Statement, ...]
    negated: bool
    start: int
    end: int


class Subshell(NamedTuple):
    """`( ... )`."""

    body: Block
    start: int
    end: int


class Branches(NamedTuple):
    """`if` and `case`: at most one of the bodies runs."""

    conditions: tuple[Block, ...]
    bodies: tuple[Block, ...]
    complete: bool
    """Whether one of them always runs."""
    start: int
    end: int


class LoopKind(enum.Enum):
    """What keeps a loop going."""

    EACH = "for"
    WHILE = "while"
    UNTIL = "until"


class Loop(NamedTuple):
    """`for`, `while`, `until`, `select`."""

    kind: LoopKind
    condition: Block | None
    body: Block
    start: int
    end: int


class Background(NamedTuple):
    """`statement &`."""

    item: Statement
    start: int
    end: int


class Function(NamedTuple):
    """A definition; what it does counts where it is called."""

    name: str
    body: Statement
    start: int
    end: int


class Unread(NamedTuple):
    """What could not be made sense of."""

    start: int
    end: int


Statement = (
    Call | Block | Chain | Pipeline | Subshell | Branches | Loop | Background | Function | Unread
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


class FileReference(NamedTuple):
    """A file or directory of the workspace that a command needs or makes."""

    path: str
    """Seen from the workspace root, without `./` and without a `/` at the end."""
    use: FileUse
    start: int
    end: int
    optional: bool = False
    """Whether the command can do without it, or may make it itself."""


class ToolReference(NamedTuple):
    """A program that a command needs."""

    name: str
    start: int
    end: int


class Script(NamedTuple):
    """A shell command, understood."""

    text: str
    block: Block
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
