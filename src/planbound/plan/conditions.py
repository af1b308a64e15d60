"""Preconditions and postconditions: the items of a list, or headings with fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from planbound.plan.contract import read_contract
from planbound.plan.entries import Entry, Piece, read_entries
from planbound.plan.fields import FieldValues
from planbound.plan.markdown import Block, BlockKind
from planbound.plan.model import Condition, Contract, Fault
from planbound.plan.outline import Outline, heading_span
from planbound.plan.values import FieldReader, item_text_span, trimmed
from planbound.plan.vocabulary import CONDITION_FIELDS
from planbound.source import Finding, Source, Span
from planbound.source.pattern import lazy_pattern

_NUMBERED = lazy_pattern(r"[ \t]*(\d{1,9}[.)]|[-*+])[ \t]+")


class _Draft:
    """A condition while its parts are collected."""

    def __init__(self, statement: Span, *, end: int) -> None:
        self.statement = statement
        self.end = end
        self.entries: list[Entry] = []
        self.pieces: list[Piece] = []
        """What belongs to the contract without a label: the fence and its expectations."""


def read_conditions(
    source: Source, outline: Outline, name: str, faults: list[Fault]
) -> tuple[Condition, ...]:
    """Return the conditions of a section."""
    section = outline.sections.get(name)
    if section is None:
        return ()
    collector = _Collector(source, faults)
    collector.add_blocks(section.blocks)
    for heading, blocks in section.parts:
        collector.add_heading(heading, blocks)
    if not collector.drafts:
        span = heading_span(source, section.heading)
        message = f"the section `{name.capitalize()}` holds no condition"
        hint = "write each condition as an item of a numbered list"
        faults.append(Fault("empty-section", Finding(span, message, hint)))
    return tuple(
        collector.finish(draft, number) for number, draft in enumerate(collector.drafts, 1)
    )


class _Collector:
    def __init__(self, source: Source, faults: list[Fault]) -> None:
        self.source = source
        self.faults = faults
        self.drafts: list[_Draft] = []

    # -- collecting --------------------------------------------------------------------------

    def add_blocks(self, blocks: list[Block]) -> None:
        for block in blocks:
            if block.kind is BlockKind.LIST and not self._is_expectation_list(block):
                for item in block.children:
                    self._add_item(item)
            elif block.kind is BlockKind.PARAGRAPH:
                self._add_paragraph(block)
            elif self.drafts:
                # A fence at the margin behind an item: it was not indented.
                self._add_to_last(block)

    def _is_expectation_list(self, block: Block) -> bool:
        first = self.source.lines[block.line].lstrip(" -*+`")
        starts = ("exit_code", "stdout", "stderr", "tests >=", "failed <=", "no new failures")
        return bool(self.drafts) and first.startswith(starts)

    def _add_item(self, item: Block) -> None:
        texts = [child for child in item.children if child.kind is BlockKind.PARAGRAPH]
        first = item.children[0] if item.children else None
        if first is None or first.kind is not BlockKind.PARAGRAPH:
            start = self.source.line_starts[item.line]
            statement = Span(start, start)
        else:
            statement = self._statement(item, first)
        draft = _Draft(statement, end=self.source.lines_span(item.line, item.after).end)
        self.drafts.append(draft)
        rest = item.children
        if first is not None and first in texts[:1]:
            rest = item.children[1:]
            self._text_after_statement(draft, first)
        self._add_parts(draft, rest)

    def _statement(self, item: Block, first: Block) -> Span:
        span = item_text_span(self.source, item, first)
        if first.labels:
            end = min(first.labels[0].span.start, span.end)
            return trimmed(self.source, Span(min(span.start, end), end))
        return span

    def _text_after_statement(self, draft: _Draft, first: Block) -> None:
        if first.labels:
            labelled = Block(
                BlockKind.PARAGRAPH, first.labels[0].line, first.after, labels=first.labels
            )
            draft.entries += read_entries(self.source, [labelled], CONDITION_FIELDS, self.faults)

    def _add_parts(self, draft: _Draft, blocks: list[Block]) -> None:
        for entry in read_entries(self.source, blocks, CONDITION_FIELDS, self.faults):
            if entry.name is None and draft.entries:
                draft.entries[-1].pieces.extend(entry.pieces)
            elif entry.name is None:
                draft.pieces += entry.pieces
            else:
                draft.entries.append(entry)

    def _add_paragraph(self, block: Block) -> None:
        """Read text at the margin: expectations, fields, or items that Markdown did not see."""
        start = block.line
        for line in range(block.line, block.after):
            match = _NUMBERED.match(self.source.lines[line])
            if match and self.drafts:
                self._add_margin(block, start, line)
                base = self.source.line_starts[line]
                end = self.source.line_span(line).end
                self.drafts.append(_Draft(Span(base + match.end(), end), end=end))
                start = line + 1
        self._add_margin(block, start, block.after)

    def _add_margin(self, block: Block, first: int, after: int) -> None:
        if after <= first or not self.drafts:
            return
        labels = [label for label in block.labels if first <= label.line < after]
        part = Block(BlockKind.PARAGRAPH, first, after, labels=labels)
        self._add_to_last(part)

    def _add_to_last(self, block: Block) -> None:
        draft = self.drafts[-1]
        self._add_parts(draft, [block])
        draft.end = max(draft.end, self.source.lines_span(block.line, block.after).end)

    def add_heading(self, heading: Block, blocks: list[Block]) -> None:
        span = heading_span(self.source, heading)
        text = self.source.text[span.start : span.end]
        number = re.match(r"\d{1,9}[.)]\s+", text)
        statement = Span(span.start + (number.end() if number else 0), span.end)
        last = blocks[-1] if blocks else heading
        draft = _Draft(statement, end=self.source.lines_span(heading.line, last.after).end)
        self.drafts.append(draft)
        self._add_parts(draft, blocks)

    # -- reading -----------------------------------------------------------------------------

    def finish(self, draft: _Draft, number: int) -> Condition:
        reader = FieldReader(self.source, self.faults)
        values = FieldValues(reader, self.faults)
        readers: dict[str, Callable[[Entry], Any]] = {
            "contract": self._contract,
            "judges": reader.patterns,
            "contract_timeout": reader.duration,
            "evidence": reader.evidence,
            "repeat": reader.repeat,
            "status": reader.line,
        }
        values.read(draft.entries, readers)
        for piece in reader.stray:
            if piece.block is None or piece.block.kind is not BlockKind.RULE:
                message = "this text belongs to no field of the condition"
                place = trimmed(self.source, piece.span)
                finding = Finding(place, message, "remove it, or move it up to the statement")
                self.faults.append(Fault("stray-text", finding))
        text, code = self._divide(draft.pieces)
        contract = values.get("contract")
        if contract is None and code:
            contract = read_contract(self.source, code, None, self.faults)
        statement = trimmed(self.source, draft.statement)
        words = [statement, *(piece.span for piece in text)]
        return Condition(
            number=number,
            statement=" ".join(word for span in words for word in self.source.slice(span).split()),
            contract=contract,
            judges=values.get("judges") or (),
            contract_timeout=values.get("contract_timeout"),
            evidence=values.get("evidence"),
            repeat=values.get("repeat"),
            fields=tuple(values.fields),
            heading=statement,
            span=Span(statement.start, max(draft.end, statement.end)),
        )

    def _divide(self, pieces: list[Piece]) -> tuple[list[Piece], list[Piece]]:
        """Return what still belongs to the statement, and the command with what follows it."""
        for index, piece in enumerate(pieces):
            if piece.block is not None and piece.block.kind is BlockKind.FENCE:
                return pieces[:index], pieces[index:]
        return pieces, []

    def _contract(self, entry: Entry) -> Contract | None:
        assert entry.label is not None
        return read_contract(self.source, entry.pieces, entry.label.span, self.faults)
