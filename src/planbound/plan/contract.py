"""Contracts as they are read and shown: command or statement, and what is expected of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import assert_never

from msgspec import Struct

from planbound.plan.entries import Piece
from planbound.plan.markdown import Block, BlockKind
from planbound.plan.model import (
    Attest,
    CaseTable,
    Command,
    Contains,
    Contract,
    ExitCodeIs,
    Expectation,
    Fault,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    OnFail,
    OutputIs,
    Plan,
    Stream,
    Wrapping,
)
from planbound.plan.values import trimmed
from planbound.plan.vocabulary import CHECK_TAG, NO_TABLE, SHELL_TAGS
from planbound.source import Finding, Located, Source, Span, lazy_pattern

# -- contracts: the command or statement, and what is expected of it -----------------------------


_STRING = r"\"(?:[^\"\\\n]|\\.)*\""
_EXPECTATION = lazy_pattern(
    rf"exit[_ ](?:code|status)\s*(?:={{1,3}}|:|is)\s*(?P<exit>[01]?\d?\d|2[0-4]\d|25[0-5])(?!\d)"
    rf"|(?P<stream>stdout|stderr)\s+contains\s+(?P<contains>{_STRING})"
    rf"|stdout\s*={{2,3}}\s*(?P<equals>{_STRING})"
    r"|tests\s*>=\s*(?P<tests>\d{1,6})(?!\d)"
    r"|fail(?:ed|ures)\s*(?:<=|≤)\s*(?P<failed>\d{1,6})(?!\d)"
    r"|(?P<new>no\s+new\s+(?:test\s+)?failures?\b)",
    re.IGNORECASE,
)
_BETWEEN = lazy_pattern(
    r"(?:\s|,|;|&&|\band\b|`|\*|→|->|=>|\.(?=\s|$)|\bexpect(?:ed|s)?\s*:)*", re.IGNORECASE
)
_ATTEST = lazy_pattern(r"attest(?:ed|ation)?\b\s*:?\s*(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_CHECK = lazy_pattern(r"[`*\s]*check[`*\s]*[:.]?[`*\s]*", re.IGNORECASE)
_QUOTED = lazy_pattern(r"[\"“”„«](?P<text>.*?)[\"“”»]\s*\.?$", re.DOTALL)
_INLINE_CODE = lazy_pattern(
    r"(?P<mark>`+)(?P<code>.+?)(?P=mark)(?!`)\s*(?:[,;:→]|->|=>)?\s*", re.DOTALL
)
_HINT = (
    'an expectation is `exit_code == 0`, `stdout contains "..."`, `stderr contains "..."`, '
    '`stdout == "..."`, `tests >= 1`, `failed <= 3` or `no new failures`'
)


class _FoundCommand(Struct, frozen=True):
    """A command found, before its expectations are known."""

    text: str
    language: str
    wrapping: Wrapping
    lines: tuple[Span, ...]
    span: Span


def read_contract(
    source: Source, pieces: list[Piece], label: Span | None, faults: list[Fault]
) -> Contract | None:
    """Return the contract in the pieces behind a `**contract:**` label."""
    return _ContractReader(source, faults).read(pieces, label)


def lacks_table(plan: Plan, command: Command) -> bool:
    """Say whether what was read as a command is the word `check`, whose table is missing."""
    places = (each.finding.span for each in plan.faults if each.rule == NO_TABLE)
    return any(place.start <= command.span.start < place.end for place in places)


class _ContractReader:
    def __init__(self, source: Source, faults: list[Fault]) -> None:
        self.source = source
        self.faults = faults
        self.command: _FoundCommand | None = None
        self.expectations: list[Located[Expectation]] = []

    def read(self, pieces: list[Piece], label: Span | None) -> Contract | None:
        if pieces and (attest := self._attest(pieces, label)):
            return attest
        fence = next((piece for piece in pieces if _is_code(piece)), None)
        named = label is not None and bool(pieces) and self._says_check(pieces[0])
        is_check = fence is not None and _holds_cases(fence, named=named)
        if named and fence is None:
            # Read as a command all the same: what a plan means does not change by a diagnostic.
            place = trimmed(self.source, pieces[0].span)
            message, hint = (
                "the check has no table",
                "put its cases into a fence with the tag `check`",
            )
            self._fault(NO_TABLE, place, message, hint)
        for piece in pieces[1 if is_check and named else 0 :]:
            if piece.block is None and fence is not None and piece.span.start < fence.span.start:
                self._introduction(piece.span)
            elif piece.block is None:
                self._text(piece.span)
            elif _is_code(piece):
                self._code(piece.block)
            elif piece.block.kind is BlockKind.LIST and self.command is not None:
                self._expectation_list(piece.block)
            elif piece.block.kind not in {BlockKind.HTML, BlockKind.RULE}:
                self._unread(piece.span)
        if self.command is None:
            return None
        found = self.command
        kind = CaseTable if is_check else Command
        return kind(
            text=found.text,
            language=found.language,
            wrapping=found.wrapping,
            expectations=tuple(self._counting() if is_check else self.expectations),
            lines=found.lines,
            span=found.span,
        )

    # -- a table of cases --------------------------------------------------------------------

    def _says_check(self, piece: Piece) -> bool:
        return piece.block is None and bool(_CHECK.fullmatch(self.source.slice(piece.span)))

    def _counting(self) -> Iterator[Located[Expectation]]:
        """Yield what can be expected of a whole table; what a case has to say stands in it."""
        for item in self.expectations:
            if isinstance(item.value, MinimumTests):
                yield item
                continue
            message = f"`{self._shown(item.span)}` is expected of no table of cases"
            hint = "each case says what it expects; behind the table stands at most `tests >= N`"
            self._fault("malformed-contract", item.span, message, hint)

    # -- a person's word ---------------------------------------------------------------------

    def _attest(self, pieces: list[Piece], label: Span | None) -> Attest | None:
        first = pieces[0]
        if first.block is not None or label is None:
            return None
        match = _ATTEST.match(self.source.slice(first.span).strip())
        if match is None:
            return None
        written = [match["rest"], *(self._plain(piece) for piece in pieces[1:])]
        text = " ".join(" ".join(written).split())
        quoted = _QUOTED.search(text)
        statement = (quoted["text"] if quoted else text).strip()
        span = trimmed(self.source, Span(first.span.start, pieces[-1].span.end))
        if not statement:
            self._fault(
                "malformed-contract",
                span,
                "the attestation has no statement",
                'write `**contract:** attest "what the person confirms"`',
            )
        return Attest(statement=statement, span=span)

    def _plain(self, piece: Piece) -> str:
        text = self.source.slice(piece.span)
        return re.sub(r"(?m)^[ \t]*>[ \t]?", "", text)

    # -- a command ---------------------------------------------------------------------------

    def _code(self, block: Block) -> None:
        span = self.source.lines_span(block.line, block.after)
        if self.command is not None:
            self._fault(
                "malformed-contract",
                self.source.line_span(block.line),
                "the contract has more than one command",
                "put all lines of the command into one fence",
            )
            return
        text = block.content.removesuffix("\n")
        fenced = block.kind is BlockKind.FENCE
        self.command = _FoundCommand(
            text=text,
            language=_language(block),
            wrapping=Wrapping.FENCE if fenced else Wrapping.INDENTED,
            lines=self._lines(block, text, 1 if fenced else 0),
            span=span,
        )

    def _lines(self, block: Block, text: str, skip: int) -> tuple[Span, ...]:
        """Return where each line of a block's content stands."""
        spans = []
        for number, line in enumerate(text.split("\n")):
            whole = self.source.line_span(
                min(block.line + skip + number, len(self.source.lines) - 1)
            )
            shift = max(0, whole.end - whole.start - len(line))
            spans.append(Span(whole.start + shift, whole.end))
        return tuple(spans)

    def _introduction(self, span: Span) -> None:
        """Say that a sentence before the fence is no part of the contract."""
        span = trimmed(self.source, span)
        if span.start < span.end:
            message = f"`{self._shown(span)}` is no part of the command"
            hint = "the command stands in the fence; what to do belongs to the task"
            self._fault("malformed-contract", span, message, hint)

    def _text(self, span: Span) -> None:
        span = trimmed(self.source, span)
        if span.start == span.end:
            return
        if self.command is not None:
            self._expectations(span)
            return
        text = self.source.slice(span)
        match = _INLINE_CODE.match(text)
        if match and "\n" not in match["code"]:
            start = span.start + match.start("code")
            place = Span(start, start + len(match["code"]))
            self._set_text(match["code"], Wrapping.INLINE, place)
            self._expectations(Span(min(span.start + match.end(), span.end), span.end))
        else:
            self._bare(span)

    def _bare(self, span: Span) -> None:
        """Read a command that stands there without a fence; expectations may follow it."""
        offset = span.start
        command_end = span.start
        for line in self.source.text[span.start : span.end].splitlines(keepends=True):
            stripped = line.strip()
            if command_end > span.start and _EXPECTATION.match(stripped.strip("`*- ")):
                self._expectations(Span(offset, span.end))
                break
            offset += len(line)
            command_end = offset
        place = trimmed(self.source, Span(span.start, command_end))
        if self.source.slice(place).lower().strip(" .") in {"none", "n/a", "-", "tbd", "todo"}:
            return
        self._set_text(self.source.slice(place), Wrapping.BARE, place)

    def _set_text(self, text: str, wrapping: Wrapping, place: Span) -> None:
        spans, start = [], place.start
        raw = self.source.text[place.start : place.end]
        for part in re.split(r"(\r\n|\n|\r)", raw)[::2]:
            spans.append(Span(start, start + len(part)))
            start += len(part)
            start += len(re.match(r"\r\n|\n|\r|", self.source.text[start:])[0])  # type: ignore[index]  # the empty alternative always matches
        self.command = _FoundCommand(
            text=text, language="", wrapping=wrapping, lines=tuple(spans), span=place
        )

    # -- expectations ------------------------------------------------------------------------

    def _expectation_list(self, block: Block) -> None:
        for item in block.children:
            span = self.source.lines_span(item.line, item.after)
            text = self.source.text[span.start : span.end]
            marked = re.match(r"\s*(?:[-*+]|\d+[.)])\s*", text)
            self._expectations(Span(span.start + (marked.end() if marked else 0), span.end))

    def _expectations(self, span: Span) -> None:
        text = self.source.text[span.start : span.end]
        position = 0
        while True:
            between = _BETWEEN.match(text, position)
            position = between.end() if between else position
            if position >= len(text):
                return
            match = _EXPECTATION.match(text, position)
            if match is None:
                end = re.compile(r"[\r\n]|$").search(text, position)
                stop = end.start() if end else len(text)
                self._unread(Span(span.start + position, span.start + stop))
                position = stop
                continue
            place = Span(span.start + match.start(), span.start + match.end())
            self.expectations.append(Located(_expectation(match), place))
            position = match.end()

    def _unread(self, span: Span) -> None:
        span = trimmed(self.source, span)
        message = f"`{self._shown(span)}` is not an expectation"
        self._fault("malformed-contract", span, message, _HINT)

    def _shown(self, span: Span) -> str:
        text = " ".join(self.source.slice(span).split())
        return text if len(text) <= 60 else text[:57] + "..."

    def _fault(self, rule: str, span: Span, message: str, hint: str | None = None) -> None:
        self.faults.append(Fault(rule, Finding(span, message, hint)))


def _is_code(piece: Piece) -> bool:
    kinds = {BlockKind.FENCE, BlockKind.INDENTED}
    return piece.block is not None and piece.block.kind in kinds


def _holds_cases(fence: Piece, *, named: bool) -> bool:
    """Say whether a fence is a table of cases: by its tag, or by the word before it."""
    assert fence.block is not None
    if fence.block.kind is not BlockKind.FENCE:
        return False
    tag = _language(fence.block)
    return tag == CHECK_TAG or (named and tag not in SHELL_TAGS)


def _language(block: Block) -> str:
    words = re.split(r"[\s{,]", block.info.strip().lstrip("{."), maxsplit=1)
    return words[0].lower() if block.info else ""


def _expectation(match: re.Match[str]) -> Expectation:
    if match["exit"] is not None:
        return ExitCodeIs(int(match["exit"]))
    if match["contains"] is not None:
        return Contains(Stream(match["stream"].lower()), _unescape(match["contains"]))
    if match["equals"] is not None:
        return OutputIs(_unescape(match["equals"]))
    if match["tests"] is not None:
        return MinimumTests(int(match["tests"]))
    if match["failed"] is not None:
        return MaximumFailures(int(match["failed"]))
    return NoNewFailures()


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}


def _unescape(quoted: str) -> str:
    def replace(match: re.Match[str]) -> str:
        return _ESCAPES.get(match[1], match.group())

    return re.sub(r"\\(.)", replace, quoted[1:-1], flags=re.DOTALL)


# -- what a plan expects, as it is written in a plan ---------------------------------------------


DEFAULT_TARGET = "coder"
"""Who does a step that names nobody."""


def expectation_text(expectation: Expectation) -> str:
    """Return an expectation as it is written in a plan."""
    match expectation:
        case ExitCodeIs():
            return f"exit_code == {expectation.code}"
        case Contains():
            return f"{expectation.stream.value} contains {_quoted(expectation.text)}"
        case OutputIs():
            return f"stdout == {_quoted(expectation.text)}"
        case MinimumTests():
            return f"tests >= {expectation.minimum}"
        case MaximumFailures():
            return f"failed <= {expectation.maximum}"
        case NoNewFailures():
            return "no new failures"
        case _:
            assert_never(expectation)


def on_fail_text(on_fail: OnFail) -> str:
    """Return the answer to a failure as it is written in a plan."""
    if on_fail.retries == 0:
        return on_fail.then.value
    return f"retry({on_fail.retries}), then {on_fail.then.value}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'
