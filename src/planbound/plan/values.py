"""The values of fields: words, lists, limits, prose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, TypeVar

from planbound.plan.entries import FieldEntry, Piece
from planbound.plan.limits import Budget, LimitError, parse_budget, parse_duration
from planbound.plan.markdown import Block, BlockKind
from planbound.plan.model import (
    Baseline,
    Code,
    Evidence,
    Exhausted,
    Fault,
    Field,
    OnFail,
    Priority,
    Prose,
    Rejected,
    StepStatus,
    Subscription,
    SubscriptionKind,
    Words,
    read_references,
)
from planbound.plan.vocabulary import REPEATED_FIELDS, nearest
from planbound.source import Finding, Located, Source, Span, lazy_pattern

# -- the values of fields: words, lists, limits, prose -------------------------------------------


T = TypeVar("T")


class FieldReader:
    """Reads the entries of one step, condition or plan; what it cannot read it reports."""

    def __init__(self, source: Source, faults: list[Fault]) -> None:
        self.source = source
        self.faults = faults
        self.stray: list[Piece] = []
        """Text behind a value that takes no text."""

    def fault(self, rule: str, span: Span, message: str, hint: str | None = None) -> None:
        """Report what cannot be read."""
        self.faults.append(Fault(rule, Finding(span, message, hint)))

    # -- one line ----------------------------------------------------------------------------

    def line(self, entry: FieldEntry) -> Located[str] | None:
        """Return the text of a field that takes one line; what follows it is stray."""
        assert entry.label is not None
        if entry.label.inside is not None:
            end = entry.label.span.end
            self.stray += entry.pieces
            return Located(entry.label.inside, Span(entry.label.span.start, end))
        if not entry.pieces or entry.pieces[0].block is not None:
            self.stray += entry.pieces
            return None
        self.stray += entry.pieces[1:]
        span = trimmed(self.source, entry.pieces[0].span)
        text = unquoted(" ".join(self.source.slice(span).split()))
        return Located(text, span) if text else None

    def needed_line(self, entry: FieldEntry) -> Located[str] | None:
        """Return the text of a field, and report one that is empty."""
        value = self.line(entry)
        if value is None:
            self._empty(entry)
        return value

    def _empty(self, entry: FieldEntry) -> None:
        assert entry.label is not None
        hint = "write the value behind the label, or remove the field"
        self.fault("empty-field", entry.label.span, f"`{entry.name}` has no value", hint)

    # -- kinds of values ---------------------------------------------------------------------

    def word(self, entry: FieldEntry) -> Located[str] | None:
        """Return a word such as a target."""
        return self.needed_line(entry)

    def duration(self, entry: FieldEntry) -> Located[Decimal] | None:
        """Return a time limit."""
        return self._limit(entry, parse_duration)

    def budget(self, entry: FieldEntry) -> Located[Budget] | None:
        """Return a budget."""
        return self._limit(entry, parse_budget)

    def _limit(self, entry: FieldEntry, parse: Callable[[str], T]) -> Located[T] | None:
        value = self.needed_line(entry)
        if value is None:
            return None
        try:
            return Located(parse(value.value), value.span)
        except LimitError as error:
            span = value.span
            if self.source.text[span.start : span.end] == value.value:
                span = Span(span.start + error.start, span.start + error.end)
            self.fault("malformed-limit", span, f"`{entry.name}`: {error.reason}", error.hint)
            return None

    def baseline(self, entry: FieldEntry) -> Located[Baseline] | None:
        """Return which colour a contract must have before the work."""
        return self._choice(entry, {item.value: item for item in Baseline})

    def evidence(self, entry: FieldEntry) -> Located[Evidence] | None:
        """Return the minimum level of evidence."""
        return self._choice(entry, {item.value.lower(): item for item in Evidence})

    def priority(self, entry: FieldEntry) -> Located[Priority] | None:
        """Return the priority of a plan."""
        names = {item.value: item for item in Priority}
        return self._choice(
            entry, {**names, "medium": Priority.NORMAL, "critical": Priority.URGENT}
        )

    def status(self, entry: FieldEntry) -> Located[StepStatus] | None:
        """Return the status that the file shows."""
        names = {item.value: item for item in StepStatus if item.in_file is item}
        others = {"todo": StepStatus.PENDING, "in_progress": StepStatus.IN_PROGRESS}
        return self._choice(entry, {**names, **others}, rule="unknown-status")

    def _choice(
        self, entry: FieldEntry, choices: dict[str, T], *, rule: str = "malformed-value"
    ) -> Located[T] | None:
        value = self.needed_line(entry)
        if value is None:
            return None
        word = value.value.lower().strip(" .").replace(" ", "-")
        if word in choices:
            return Located(choices[word], value.span)
        what = "status" if rule == "unknown-status" else f"value of `{entry.name}`"
        # Tolerated spellings are read and not advertised.
        names = {str(getattr(choice, "value", choice)): None for choice in choices.values()}
        near = nearest(word, names)
        known = ", ".join(f"`{name}`" for name in names)
        hint = f"did you mean `{near}`?" if near else f"write one of {known}"
        self.fault(rule, value.span, f"unknown {what}: `{value.value}`", hint)
        return None

    def repeat(self, entry: FieldEntry) -> Located[int] | None:
        """Return how often a contract is run."""
        value = self.needed_line(entry)
        if value is None:
            return None
        match = re.fullmatch(r"(\d{1,3})(?:\s*(?:times|x))?", value.value, re.IGNORECASE)
        if match and int(match[1]) >= 1:
            return Located(int(match[1]), value.span)
        message = f"`repeat` is not a number of runs: `{value.value}`"
        self.fault("malformed-value", value.span, message, "write a number such as `3`")
        return None

    def on_fail(self, entry: FieldEntry) -> Located[OnFail] | None:
        """Return how a failure is answered."""
        value = self.needed_line(entry)
        if value is None:
            return None
        match = _ON_FAIL.fullmatch(value.value)
        if match:
            then = Exhausted(match["then"].lower()) if match["then"] else Exhausted.ESCALATE
            retries = int(match["count"] or match["bare"] or 2) if match["retry"] else 0
            return Located(OnFail(retries, then), value.span)
        self.fault(
            "malformed-value",
            value.span,
            f"`on_fail` is not an answer to a failure: `{value.value}`",
            "write `retry(2), then escalate`, `retry(N)`, `escalate` or `abort`",
        )
        return None

    def depends(self, entry: FieldEntry) -> tuple[Located[str], ...] | None:
        """Return the labels of the steps that a step depends on."""
        items = list(self._words(entry))
        if not items:
            assert entry.label is not None
            hint = "write step numbers, or `none` for a step that depends on nothing"
            self.fault("empty-field", entry.label.span, "`depends` has no value", hint)
            return None
        return tuple(found for item in items for found in self.references(item))

    def references(self, item: Located[str]) -> Iterator[Located[str]]:
        """Yield the step labels in a text."""
        labels, junk = read_references(item.value)
        exact = self.source.text[item.span.start : item.span.end] == item.value
        if junk:
            start, end = junk[0][1], junk[-1][2]
            span = Span(item.span.start + start, item.span.start + end) if exact else item.span
            message = f"`{item.value[start:end]}` is not a step number"
            self.fault("unknown-dependency", span, message, "name steps by number: `1, 3`")
        for label, start, end in labels:
            span = Span(item.span.start + start, item.span.start + end) if exact else item.span
            yield Located(label, span)

    def patterns(self, entry: FieldEntry) -> tuple[Located[str], ...] | None:
        """Return a list of patterns or paths; `none` is a list without any."""
        items = self._needed_words(entry)
        return None if items is None else tuple(items)

    def rejects(self, entry: FieldEntry) -> tuple[Rejected, ...] | None:
        """Return what a contract has to fail with: paths of diffs, and diffs."""
        code = {BlockKind.FENCE, BlockKind.INDENTED}
        diffs = [each.block for each in entry.pieces if each.block and each.block.kind in code]
        named = [each for each in entry.pieces if each.block not in diffs or each.block is None]
        words = list(self._words(FieldEntry(entry.name, entry.label, named, entry.known)))
        if not diffs and not words:
            self._empty(entry)
            return None
        found = [
            Rejected(item.value, "", (), item.span)
            for item in words
            if item.value.lower() not in {"none", "n/a"}
        ]
        found += map(self._diff, diffs)
        return tuple(sorted(found, key=lambda each: each.span.start))

    def _diff(self, block: Block) -> Rejected:
        first = block.line + (block.kind is BlockKind.FENCE)
        count, last = block.content.count("\n"), len(self.source.lines) - 1
        lines = tuple(self.source.line_span(min(first + each, last)) for each in range(count))
        span = self.source.lines_span(block.line, block.after)
        return Rejected(None, block.content, lines, span)

    def subscriptions(self, entry: FieldEntry) -> tuple[Located[Subscription], ...]:
        """Return the context that a step asks for."""
        found = []
        for item in self._needed_words(entry) or ():
            written, _, rest = item.value.partition(":")
            kind = _SUBSCRIPTIONS.get(written.strip().lower())
            name = rest.strip()
            if kind is None or not name:
                path = name or item.value
                self.fault(
                    "malformed-value",
                    item.span,
                    f"`{item.value}` is not a subscription",
                    f"write `file:{path}` or `topic:NAME`",
                )
                continue
            found.append(Located(Subscription(kind, name), item.span))
        return tuple(found)

    def _needed_words(self, entry: FieldEntry) -> list[Located[str]] | None:
        items = list(self._words(entry))
        if not items:
            self._empty(entry)
            return None
        return [item for item in items if item.value.lower() not in {"none", "n/a"}]

    def _words(self, entry: FieldEntry) -> Iterator[Located[str]]:
        """Yield the items of a list, written with commas, line by line or as a Markdown list."""
        listed = False
        for piece in entry.pieces:
            if piece.block is not None and piece.block.kind is BlockKind.LIST and not listed:
                for item in piece.block.children:
                    yield from self._item(item)
                listed = True
            elif piece.block is None and piece is entry.pieces[0]:
                yield from self._inline_words(piece.span)
            else:
                self.stray.append(piece)

    def _item(self, item: Block) -> Iterator[Located[str]]:
        for child in item.children:
            if child.kind is BlockKind.PARAGRAPH:
                span = item_text_span(self.source, item, child)
                text = unquoted(" ".join(self.source.slice(span).split()))
                if text:
                    yield Located(text, span)
            else:
                self.stray.append(Piece(self.source.lines_span(child.line, child.after), child))

    def _inline_words(self, span: Span) -> Iterator[Located[str]]:
        text = self.source.text[span.start : span.end]
        for match in _WORD.finditer(text):
            part = trimmed(self.source, Span(span.start + match.start(), span.start + match.end()))
            value = unquoted(self.source.slice(part))
            if value:
                yield Located(value, part)

    # -- prose -------------------------------------------------------------------------------

    def prose(self, pieces: list[Piece]) -> Prose | None:
        """Return free text with the code in it."""
        return read_prose(self.source, pieces)


_SUBSCRIPTIONS = {kind.value: kind for kind in SubscriptionKind}
_ON_FAIL = lazy_pattern(
    r"(?:(?P<retry>retry)\s*(?:\(\s*(?P<count>\d{1,4})\s*\)|\s(?P<bare>\d{1,4})(?:\s*times)?)?)?"
    r"(?(retry)(?:\s*[,;]\s*|\s+)?(?:and\s+)?(?:then\s+)?)(?P<then>escalate|abort)?",
    re.IGNORECASE,
)
# Commas inside braces and brackets belong to a pattern.
_WORD = lazy_pattern(r"(?:`[^`\n]*`|\{[^{}\n]*\}|\[[^\[\]\n]*\]|[^,\n\r])+")
_WRAPPED = lazy_pattern(r"`+([^`]+)`+(?:\s+[—–(-].*)?|\"([^\"]+)\"|'([^']+)'")


def unquoted(text: str) -> str:
    """Return a value without the backticks or quotation marks around it."""
    match = _WRAPPED.fullmatch(text)
    return next(group for group in match.groups() if group).strip() if match else text


def trimmed(source: Source, span: Span) -> Span:
    """Return a span without the blanks at its ends."""
    text = source.text[span.start : span.end]
    start = span.start + len(text) - len(text.lstrip())
    return Span(start, max(start, span.end - (len(text) - len(text.rstrip()))))


_BULLET = lazy_pattern(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s+|$)(?:\[[ xX]\][ \t]+(?=\S))?")


def item_text_span(source: Source, item: Block, paragraph: Block) -> Span:
    """Return where the text of a list item stands, behind its mark."""
    span = source.lines_span(paragraph.line, paragraph.after)
    if paragraph.line == item.line:
        match = _BULLET.match(source.lines[item.line].lstrip("> \t"))
        indent = len(source.lines[item.line]) - len(source.lines[item.line].lstrip("> \t"))
        if match:
            span = Span(span.start + indent + match.end(), max(span.end, span.start))
    if span.end < span.start:
        return Span(span.start, span.start)
    return trimmed(source, span)


def read_prose(source: Source, pieces: list[Piece]) -> Prose | None:
    """Return free text with the code in it; None where there is only white space."""
    if not pieces:
        return None
    span = trimmed(source, Span(pieces[0].span.start, pieces[-1].span.end))
    if span.start == span.end:
        return None
    parts: list[Words | Code] = []
    position = span.start
    for code in _code_blocks(pieces):
        start = source.line_starts[code.line]
        _add_words(parts, source, Span(min(position, start), start))
        parts.append(Code(" ".join(code.info.split()), code.content))
        position = max(position, source.lines_span(code.line, code.after).end)
    _add_words(parts, source, Span(min(position, span.end), span.end))
    return Prose(text=source.slice(span), parts=tuple(parts), span=span)


def _code_blocks(pieces: list[Piece]) -> Iterator[Block]:
    for piece in pieces:
        if piece.block is not None:
            for block in piece.block.walk():
                if block.kind in {BlockKind.FENCE, BlockKind.INDENTED}:
                    yield block


def _add_words(parts: list[Words | Code], source: Source, span: Span) -> None:
    words = " ".join(source.slice(span).split())
    if words:
        parts.append(Words(words))


# -- the fields of one step, condition or plan, each read once -----------------------------------


class FieldValues:
    """The values by name, and the fields as they were written."""

    def __init__(self, reader: FieldReader, faults: list[Fault]) -> None:
        self.reader = reader
        self.faults = faults
        self.fields: list[Field] = []
        self.values: dict[str, Any] = {}

    def read(
        self, entries: list[FieldEntry], readers: dict[str, Callable[[FieldEntry], Any]]
    ) -> None:
        """Read the entries with the reader of their name; report what is given twice."""
        for entry in entries:
            if entry.name is None or entry.label is None:
                continue
            read = False
            again = entry.name in self.values
            if again and entry.name not in REPEATED_FIELDS:
                message = f"`{entry.name}` is given twice"
                finding = Finding(entry.label.span, message, "keep one of them")
                self.faults.append(Fault("duplicate-field", finding))
            elif entry.known:
                value = readers[entry.name](entry)
                read = value is not None
                before = self.values.get(entry.name) or () if again else None
                self.values[entry.name] = value if before is None else (*before, *(value or ()))
            self.fields.append(field_of(self.reader.source, entry, read=read))

    def get(self, name: str) -> Any:
        """Return a value, None where it is not given or was not understood."""
        return self.values.get(name)


def field_of(source: Source, entry: FieldEntry, *, read: bool) -> Field:
    """Return what is known of a field whatever its value."""
    assert entry.name is not None
    assert entry.label is not None
    span = Span(entry.label.span.start, max(entry.end, entry.label.span.end))
    return Field(
        name=entry.name,
        written=entry.label.name,
        label=entry.label.span,
        span=span,
        text=" ".join(source.slice(Span(entry.label.span.end, span.end)).split()),
        read=read,
    )
