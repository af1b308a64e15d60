"""Reads simple commands: their words, redirects, and the command behind wrappers."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from planbound.script.tree import (
    EXPRESSIONS,
    REDIRECTS,
    SUBSTITUTIONS,
    Call,
    Redirect,
    Script,
    ShellAssignment,
    Statement,
    StatementList,
    Unread,
    Word,
    change_directory,
    has_braces,
    named,
    unescape,
    unquote,
    unquote_ansi,
)
from planbound.script.wrapper import SHELLS, program_of, unwrap
from planbound.source import lazy_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

# -- reads simple commands: their words, redirects, and the command behind wrappers --------------


MAXIMUM_LENGTH = 10_000
"""In characters. The grammar takes quadratic time for some texts that are no shell at all."""
MAXIMUM_DEPTH = 40

_PLAIN = lazy_pattern(r"[\w./:@+-]+")
_PLAIN_KINDS = frozenset({"word", "command_name"})
_NOT_ASCII = lazy_pattern(r"[^\x20-\x7e\t\n]")
_TAKES_SCRIPT = SHELLS | {"eval"}
_DIRECTORY_CHANGES = frozenset({"cd", "pushd", "popd"})
_HEREDOC_MARKS = frozenset({"heredoc_start", "heredoc_end", "file_descriptor"})


class Inside(NamedTuple):
    """What holds for everything inside a construct."""

    background: bool = False
    fed: bool = False
    nested: bool = False
    negated: bool = False
    optional: bool = False


class Notes:
    """What is collected on the way."""

    def __init__(self, parse: "Callable[[bytes], Node]") -> None:
        self.parse = parse
        self.calls: list[Call] = []
        self.redirects: list[Redirect] = []
        """Those of compound statements."""
        self.functions: set[str] = set()
        self.heredocs: list[tuple[int, int]] = []
        self.broken = False


class Behind:
    """What stands behind `<<EOF` on its line; the grammar makes it part of the redirect."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.pipe: Node | None = None
        self.operator = ""
        self.right: Node | None = None


class CallReader(ABC):
    """Reads the words of one text."""

    def __init__(self, text: str, notes: Notes, *, depth: int, within: Word | None = None) -> None:
        self.text = text
        self.notes = notes
        self.depth = depth
        self.directory: str | None = ""
        # To the shell all of these are parts of words, and so is this one. The grammar crashes on
        # some, takes others for blanks, and counts bytes, which now are characters.
        self.data = _NOT_ASCII.sub(".", text).encode()
        self.base = 0
        self.fixed: tuple[int, int] | None = None
        """The place of everything, where the text stands in quotes with escapes."""
        if within is not None:
            if within.text[1:-1] == text:
                self.base = within.start + 1
            else:
                self.fixed = (within.start, within.end)

    @abstractmethod
    def statement(
        self, node: "Node", context: Inside, redirects: "tuple[Node, ...]" = ()
    ) -> Statement:
        """Read any statement."""

    @abstractmethod
    def script(self, word: Word, context: Inside) -> StatementList:
        """Read the script in a word."""

    @abstractmethod
    def continued(self, item: Statement, behind: Behind, context: Inside) -> Statement:
        """Join a statement with what stands behind its `<<EOF`."""

    def span(self, node: "Node") -> tuple[int, int]:
        """Return where a node stands."""
        if self.fixed is not None:
            return self.fixed
        return node.start_byte + self.base, node.end_byte + self.base

    def written(self, node: "Node") -> str:
        """Return the text of a node."""
        return self.text[node.start_byte : node.end_byte]

    def unread(self, node: "Node") -> Unread:
        """Give up on a node."""
        start, end = self.span(node)
        return Unread(start=start, end=end)

    # -- simple commands ---------------------------------------------------------------------

    def command(self, node: "Node", context: Inside, redirects: "tuple[Node, ...]") -> Statement:
        """Read `NAME=value program argument > file`."""
        words: list[Word] = []
        assignments: list[ShellAssignment] = []
        own: list[Node] = []
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment":
                assignments.append(self._assigned(child, context))
            elif kind in REDIRECTS:
                own.append(child)
            elif kind != "comment":
                words.append(self.word(child, context, kind))
        return self.simple(node, words, assignments, context, (*own, *redirects))

    def assignments(
        self, node: "Node", context: Inside, redirects: "tuple[Node, ...]"
    ) -> Statement:
        """Read `NAME=value` without a program."""
        nodes = [node] if node.type == "variable_assignment" else named(node)
        assigned = [self._assigned(each, context) for each in nodes]
        return self.simple(node, (), assigned, context, redirects)

    def declaration(
        self, node: "Node", context: Inside, redirects: "tuple[Node, ...]"
    ) -> Statement:
        """Read `export NAME=value` and its like."""
        words = [self.word(child, context) for child in node.children if child.type != "comment"]
        return self.simple(node, words, (), context, redirects)

    def test(self, node: "Node", context: Inside, redirects: "tuple[Node, ...]" = ()) -> Statement:
        """Read `[ ... ]`, `[[ ... ]]` and `(( ... ))` as a program with words."""
        words: list[Word] = []
        pending = list(reversed(node.children[:-1]))
        while pending:
            child = pending.pop()
            if child.type in EXPRESSIONS:
                pending += reversed(child.children)
            else:
                words.append(self.word(child, context))
        return self.simple(node, words, (), context, redirects)

    def simple(
        self,
        node: "Node",
        words: Sequence[Word],
        assignments: Sequence[ShellAssignment],
        context: Inside,
        redirects: "tuple[Node, ...]",
    ) -> Statement:
        """Note a call."""
        behind: Behind | None = None
        taken: list[Redirect] = []
        if redirects:
            behind = Behind()
            taken = self.redirects(redirects, context, behind)
            words = [*words, *behind.words]
        call = self._call(node, words, assignments, taken, context)
        self.notes.calls.append(call)
        if call.name in _DIRECTORY_CHANGES:
            self.directory = change_directory(self.directory, call.name, call.arguments)
        return self.continued(call, behind, context) if behind else call

    def _call(
        self,
        node: "Node",
        words: Sequence[Word],
        assignments: Sequence[ShellAssignment],
        redirects: Sequence[Redirect],
        context: Inside,
    ) -> Call:
        behind = unwrap(words) if words else None
        index = behind.place if behind else 0
        name = (behind.name or None) if behind else words[0].value if words else None
        program = program_of(name) if name else ""
        if name in {"{", "}", "!"}:  # `! { a; }` and `! ! a` are beyond the grammar
            self.notes.broken = True
        arguments = tuple(words[index + 1 :])
        start, end = self.span(node)
        return Call(
            name=name,
            program=program,
            word=words[index] if words else None,
            arguments=arguments,
            assignments=(*assignments, *behind.assignments) if behind else tuple(assignments),
            redirects=tuple(redirects),
            wrappers=behind.wrappers if behind else (),
            start=start,
            end=end,
            negated=context.negated,
            background=context.background,
            fed=context.fed or (bool(redirects) and any(each.feeds for each in redirects)),
            nested=context.nested,
            optional=context.optional,
            limited=behind.limited if behind else False,
            provided=behind.provided if behind else False,
            directory=None if behind and behind.moved else self.directory,
            body=self._inner(program, arguments, context) if program in _TAKES_SCRIPT else None,
        )

    def _inner(
        self, program: str, arguments: tuple[Word, ...], context: Inside
    ) -> StatementList | None:
        """Read the script of `bash -c '...'` and `eval '...'`."""
        word: Word | None = None
        if program == "eval":
            word = arguments[0] if len(arguments) == 1 else None
        else:
            for option, following in pairwise(arguments):
                value = option.value or ""
                if value.startswith("-") and not value.startswith("--") and "c" in value:
                    word = following
                    break
        return None if word is None or word.value is None else self.script(word, context)

    # -- words -------------------------------------------------------------------------------

    def word(self, node: "Node", context: Inside, kind: str = "") -> Word:
        """Read one word, and the commands in it."""
        start, end = node.start_byte, node.end_byte
        text = self.text[start:end]
        value: str | None = text
        kind = kind or node.type
        if kind == "command_name" and not _PLAIN.fullmatch(text) and node.children:
            value = self._value(node.children[0], text, context)
        elif kind not in _PLAIN_KINDS or "\\" in text or text[:1] == "~":
            value = self._value(node, text, context)
        if self.fixed is not None:
            start, end = self.fixed
        else:
            start, end = start + self.base, end + self.base
        return Word(text, value, start, end)

    def _value(self, node: "Node", text: str, context: Inside) -> str | None:
        kind = node.type
        value: str | None = None
        if kind in {"word", "number"}:
            if not text.startswith("~"):
                value = unescape(text) if "\\" in text else text
        elif kind == "raw_string":
            value = text[1:-1]
        elif kind == "string" and all(child.type == "string_content" for child in named(node)):
            value = unquote(text)
        elif kind == "ansi_c_string":
            value = unquote_ansi(text)
        elif kind == "concatenation":
            values = [self._value(each, self.written(each), context) for each in node.children]
            known = [each for each in values if each is not None]
            value = "".join(known) if len(known) == len(values) and not has_braces(text) else None
        elif not node.children:
            value = text
        else:
            self.substitutions(node, context)
            if kind == "variable_assignment" and not {"$", "`"} & set(text):
                value = text
        return value

    def _assigned(self, node: "Node", context: Inside) -> ShellAssignment:
        name, value = node.children[0], node.children[-1]
        start, end = self.span(node)
        return ShellAssignment(
            name=self.written(name),
            value=self.word(value, context) if value.is_named else None,
            start=start,
            end=end,
        )

    def substitutions(self, node: "Node", context: Inside) -> None:
        """Read the commands inside a word."""
        pending = [node]
        while pending:
            current = pending.pop()
            if current.type in SUBSTITUTIONS:
                before = self.directory
                self.statement(current, context._replace(nested=True, negated=False))
                self.directory = before
            elif current.type in REDIRECTS:
                self.notes.redirects += self.redirects((current,), context, Behind())
            else:
                pending += reversed(current.children)

    # -- redirects ---------------------------------------------------------------------------

    def redirects(self, nodes: "Iterable[Node]", context: Inside, behind: Behind) -> list[Redirect]:
        """Read redirects, and what the grammar puts into them."""
        taken: list[Redirect] = []
        for node in nodes:
            operator = next((each.type for each in node.children if not each.is_named), "")
            targets = [each for each in node.children if each.is_named]
            if node.type == "heredoc_redirect":
                taken += self._heredoc(node, context, behind)
                targets = targets[:1]
            if targets:
                taken.append(
                    Redirect(
                        operator=operator,
                        target=self.word(targets[-1], context),
                        directory=self.directory,
                        optional=context.optional,
                    )
                )
        return taken

    def _heredoc(self, node: "Node", context: Inside, behind: Behind) -> list[Redirect]:
        taken: list[Redirect] = []
        for child in node.children:
            kind = child.type
            if kind in REDIRECTS:
                taken += self.redirects((child,), context, behind)
            elif kind == "pipeline":
                behind.pipe = child
            elif kind in {"&&", "||"}:
                behind.operator = kind
            elif kind == "heredoc_body":
                self.notes.heredocs.append(self.span(child))
                self.substitutions(child, context)
            elif child.is_named and kind not in _HEREDOC_MARKS:
                if behind.operator:
                    behind.right = child
                else:
                    behind.words.append(self.word(child, context))
        return taken


# -- what people and models put in front of a command that is no part of it ----------------------


_LABEL = lazy_pattern(
    r"\s*(?:bash|sh|shell|zsh|console|command|cmd|run)\s*:[ \t]+(?=\S)",
    re.IGNORECASE,
)
_DOLLAR = lazy_pattern(r"^[ \t]*\$[ \t]+(?=[^\s])", re.MULTILINE)
# `> out.txt` makes an empty file.
_ANGLE = lazy_pattern(r"\s*>[ \t]+(?=[A-Za-z][\w-]*(?:[ \t]|$))")


class Prefix(Struct, frozen=True):
    """A label or prompt in front of a command."""

    text: str
    start: int
    end: int
    """Where the command starts."""


def find_prefixes(script: Script) -> tuple[Prefix, ...]:
    """Return what stands in front of the commands of a script."""
    text = script.text
    if "$" not in text and ":" not in text and ">" not in text:
        return ()
    matches = [match for pattern in (_LABEL, _ANGLE) if (match := pattern.match(text))]
    matches += [match for match in _DOLLAR.finditer(text) if not _is_quoted(script, match.end())]
    return tuple(
        Prefix(text=match.group().strip(), start=_visible(match), end=match.end())
        for match in matches
    )


def without_prefixes(script: Script, prefixes: tuple[Prefix, ...]) -> str:
    """Return the text with blanks for the prefixes, so that every place stays the same."""
    text = script.text
    for prefix in prefixes:
        blank = " " * (prefix.end - prefix.start)
        text = f"{text[: prefix.start]}{blank}{text[prefix.end :]}"
    return text


def _visible(match: re.Match[str]) -> int:
    return match.end() - len(match.group().lstrip())


def _is_quoted(script: Script, offset: int) -> bool:
    """Say whether an offset is inside a here-document or a word of several lines."""
    if any(start <= offset < end for start, end in script.heredocs):
        return True
    return any(
        word.start < offset - 1 < word.end and "\n" in word.text[: offset - word.start]
        for call in script.calls
        for word in call.arguments
    )
