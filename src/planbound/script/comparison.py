"""What a call of a shell compares, and what it expects there."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import NamedTuple

from planbound.script.known_programs import grep_patterns
from planbound.script.tree import Call, Word, words
from planbound.source import lazy_pattern

_SHOWN = 60


class ExpectedKind(enum.Enum):
    """What a comparison expects."""

    TEXT = "text"
    NUMBER = "number"
    PATTERN = "pattern"
    """Of `grep`."""
    EXPRESSION = "expression"
    """Behind `=~`."""
    FILE = "file"
    LINES = "lines"
    """Of a here-document."""


class Comparison(NamedTuple):
    """A comparison, and where its expected value stands."""

    call: Call | None
    """None: it is a `case`."""
    word: Word
    expects: ExpectedKind
    path: str | None
    """The script that it stands in; None: the contract itself."""
    line: int
    text: str
    """As written."""
    file: str = ""
    """The file whose content is expected."""
    is_only: bool = False
    """Whether that file is there to be compared with, and for nothing else."""

    @property
    def shown(self) -> str:
        """Return what it says and where, for people."""
        place = f"line {self.line}" if self.path is None else f"{self.path}, line {self.line}"
        text = " ".join(self.text.split())
        text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        return f"`{text}` ({place})"


# -- what a call compares --------------------------------------------------------------------------


_TESTS = words("test [ [[")
GREPS = words("grep egrep fgrep")
_GREP_OPTION = lazy_pattern(
    r"-(?:[abchHilnoqsUwxyzEFGP]|m\d+)*e?|-[mABC]|--(?:quiet|silent|ignore-case|line-regexp|"
    r"word-regexp|fixed-strings|extended-regexp|perl-regexp|count|no-messages|text|only-matching|"
    r"max-count(?:=\d+)?|colou?r=\w+|regexp)?"
)
_FILE_OPTIONS = {
    "diff": lazy_pattern(r"-(?:[uqsacwbBiNZd]*|U\d+)|--(?:brief|unified(?:=\d+)?|strip-trailing-cr|"
                         r"ignore-\w+(?:-\w+)?|text|colou?r(?:=\w+)?)"),
    "cmp": lazy_pattern(r"-[sbl]*|--(?:silent|quiet|print-bytes|verbose)"),
}  # fmt: skip
COMPARING_FILES = frozenset(_FILE_OPTIONS)
_EQUAL = {"=": ExpectedKind.TEXT, "==": ExpectedKind.TEXT, "-eq": ExpectedKind.NUMBER}
_UNEQUAL = {"!=": ExpectedKind.TEXT, "-ne": ExpectedKind.NUMBER}
WANTED = ("expect", "want", "correct", "golden", "answer", "snapshot", "reference")
_NUMBER = lazy_pattern(r"\d{1,15}")
GLOB = frozenset("*?[")


def is_number(text: str | None) -> bool:
    """Say whether a word is a plain number."""
    return text is not None and _NUMBER.fullmatch(text) is not None


def expectations(call: Call, *, unequal: bool = False) -> Iterator[tuple[Word, ExpectedKind]]:
    """Yield what a call expects, with `unequal` what it expects not to be."""
    if call.program in _TESTS:
        yield from _tested(call, unequal=unequal)
    elif unequal:
        return
    elif call.program == "((":
        given = call.arguments
        if len(given) == 3 and given[1].value == "==" and is_number(given[2].value):
            yield given[2], ExpectedKind.NUMBER
    elif call.program in GREPS:
        yield from _looked_for(call)
    elif call.program in _FILE_OPTIONS:
        allowed = _FILE_OPTIONS[call.program]
        if all(allowed.fullmatch(each.value or "") for each in _options(call)):
            operands = list(call.operands())
            yield from ((word, ExpectedKind.FILE) for word in operands if len(operands) == 2)


def _tested(call: Call, *, unequal: bool) -> Iterator[tuple[Word, ExpectedKind]]:
    """Yield what `test`, `[` and `[[` compare with; all parts of an *and* have to hold."""
    between = "&&" if call.program == "[[" else "-a"
    parts: list[list[Word]] = [[]]
    for word in call.arguments:
        if word.text == between:
            parts.append([])
        else:
            parts[-1].append(word)
    if any(len(part) != 3 for part in parts) or (unequal and len(parts) > 1):
        return
    known = _UNEQUAL if unequal else _EQUAL
    for left, operator, right in parts:
        if operator.text == "=~" and not unequal and call.program == "[[":
            yield right, ExpectedKind.EXPRESSION
        elif operator.text in known and (left.value is None or right.value is None):
            yield left if right.value is None and left.value else right, known[operator.text]


def _options(call: Call) -> list[Word]:
    return [each for each in call.arguments if each.text[:1] == "-" and len(each.text) > 1]


def _looked_for(call: Call) -> Iterator[tuple[Word, ExpectedKind]]:
    patterns = grep_patterns(call)
    taken = {word.start for word in patterns}
    options = [each for each in _options(call) if each.start not in taken]
    if len(patterns) == 1 and all(_GREP_OPTION.fullmatch(each.value or "?") for each in options):
        yield patterns[0], ExpectedKind.PATTERN
