"""Text into a plan.

Any text parses: what cannot be understood becomes a fault at its place, and the bytes stay in the
plan's source. `write(parse(...))` gives them back unchanged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from planbound.plan.contract import read_contract
from planbound.plan.entries import FieldEntry, Piece, read_entries
from planbound.plan.frontmatter import read_frontmatter
from planbound.plan.markdown import Block, BlockKind, read_blocks
from planbound.plan.model import Condition, Contract, Fault, Plan, Step, StepStatus
from planbound.plan.outline import Outline, StepOutline, heading_span, heading_text, read_outline
from planbound.plan.values import FieldReader, FieldValues, item_text_span, trimmed
from planbound.plan.vocabulary import CONDITION_FIELDS, PLAN_FIELDS, STEP_FIELDS
from planbound.source import Finding, Located, Source, Span, lazy_pattern

# -- preconditions and postconditions: the items of a list, or headings with fields --------------


_NUMBERED = lazy_pattern(r"[ \t]*(\d{1,9}[.)]|[-*+])[ \t]+")


class _ConditionParts:
    """A condition while its parts are collected."""

    def __init__(self, statement: Span, *, end: int) -> None:
        self.statement = statement
        self.end = end
        self.entries: list[FieldEntry] = []
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
        self.drafts: list[_ConditionParts] = []

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
        draft = _ConditionParts(statement, end=self.source.lines_span(item.line, item.after).end)
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

    def _text_after_statement(self, draft: _ConditionParts, first: Block) -> None:
        if first.labels:
            labelled = Block(
                BlockKind.PARAGRAPH, first.labels[0].line, first.after, labels=first.labels
            )
            draft.entries += read_entries(self.source, [labelled], CONDITION_FIELDS, self.faults)

    def _add_parts(self, draft: _ConditionParts, blocks: list[Block]) -> None:
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
                self.drafts.append(_ConditionParts(Span(base + match.end(), end), end=end))
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
        draft = _ConditionParts(statement, end=self.source.lines_span(heading.line, last.after).end)
        self.drafts.append(draft)
        self._add_parts(draft, blocks)

    # -- reading -----------------------------------------------------------------------------

    def finish(self, draft: _ConditionParts, number: int) -> Condition:
        reader = FieldReader(self.source, self.faults)
        values = FieldValues(reader, self.faults)
        readers: dict[str, Callable[[FieldEntry], Any]] = {
            "contract": self._contract,
            "rejects": reader.rejects,
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
            rejects=values.get("rejects") or (),
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

    def _contract(self, entry: FieldEntry) -> Contract | None:
        assert entry.label is not None
        return read_contract(self.source, entry.pieces, entry.label.span, self.faults)


# -- text into a plan ----------------------------------------------------------------------------


MAX_BYTES = 16 * 1024 * 1024
"""A plan is read by people: a larger file is not one."""


def parse(data: bytes | str, *, path: str = "PLAN.md") -> Plan:
    """Return the plan in a file's content."""
    if isinstance(data, str):
        return parse_source(Source(path=path, text=data))
    if len(data) > MAX_BYTES:
        fault = Fault(
            "unreadable-file",
            Finding(
                Span(0, 0),
                f"the file has {len(data):,} bytes, a plan has at most {MAX_BYTES:,}",
            ),
        )
        return _Parser(Source(path=path, text="")).parse(fault)
    return parse_source(Source.from_bytes(data, path=path))


def parse_source(source: Source) -> Plan:
    """Return the plan in a source."""
    return _Parser(source).parse()


def write(plan: Plan) -> bytes:
    """Return the bytes of a plan's file."""
    return plan.source.to_bytes()


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Fault] = []

    def parse(self, *known: Fault) -> Plan:
        self.faults += known
        self._check_encoding()
        frontmatter, skip = read_frontmatter(self.source, self.faults)
        blocks = read_blocks(self.source, skip=skip)
        self._check_fences(blocks)
        outline = read_outline(self.source, blocks, self.faults)
        self._check_before_steps(outline)
        preamble = self._preamble(outline)
        steps = tuple(self._step(step) for step in outline.steps)
        return Plan(
            source=self.source,
            frontmatter=frontmatter,
            objective=self._objective(outline),
            steps=with_ids(steps),
            preconditions=read_conditions(self.source, outline, "preconditions", self.faults),
            postconditions=read_conditions(self.source, outline, "postconditions", self.faults),
            notes=tuple(heading_text(self.source, block) for block in outline.notes),
            faults=tuple(self.faults),
            **preamble,
        )

    def _check_encoding(self) -> None:
        text = self.source.text
        if text.startswith(("\udcff\udcfe", "\udcfe\udcff")) or "\0" in text[:4096]:
            message = "the file is not text, or not UTF-8 text"
            finding = Finding(Span(0, 0), message, "save it as UTF-8")
            self.faults.append(Fault("unreadable-file", finding))
            return
        span = self.source.undecodable()
        if span is not None:
            byte = ord(self.source.text[span.start]) & 0xFF
            finding = Finding(span, f"the byte 0x{byte:02x} is not UTF-8", "save it as UTF-8")
            self.faults.append(Fault("unreadable-file", finding))

    def _check_fences(self, blocks: list[Block]) -> None:
        for block in blocks:
            for inner in block.walk():
                if inner.kind is BlockKind.FENCE and self._check_fence(inner):
                    return  # behind the first one that went wrong every fence is inside out

    def _check_fence(self, fence: Block) -> bool:
        place = self.source.line_span(fence.line)
        if nested_fence(fence):
            rule, message = "nested-fence", "a fence inside this one ends it early"
            hint = "run `planbound fmt` to give the outer fence one more mark"
        elif not fence.closed:
            rule, message = (
                "unclosed-fence",
                "this fence is never closed: all that follows is inside it",
            )
            hint = "close it with the same marks on a line of their own"
        elif holds_opening(fence):
            rule, message = "unclosed-fence", "this fence runs into the next one"
            hint = "close it with the same marks on a line of their own"
        else:
            return False
        self.faults.append(Fault(rule, Finding(place, message, hint)))
        return True

    def _check_before_steps(self, outline: Outline) -> None:
        for block in outline.before_steps:
            for label in block.labels:
                message = f"`{label.name}` stands before the first step and belongs to none"
                finding = Finding(label.span, message, "move it below the heading of its step")
                self.faults.append(Fault("unknown-field", finding))

    def _objective(self, outline: Outline) -> Located[str] | None:
        if outline.title is None:
            return None
        text = heading_text(self.source, outline.title).strip()
        return Located(text, heading_span(self.source, outline.title)) if text else None

    def _preamble(self, outline: Outline) -> dict[str, Any]:
        reader = FieldReader(self.source, self.faults)
        entries = read_entries(self.source, outline.preamble, PLAN_FIELDS, self.faults)
        values = FieldValues(reader, self.faults)
        loose = [piece for entry in entries if entry.name is None for piece in entry.pieces]
        readers: dict[str, Callable[[FieldEntry], Any]] = {
            "context": lambda entry: reader.prose(entry.pieces),
            "budget": reader.budget,
            "priority": reader.priority,
            "status": reader.line,
        }
        values.read(entries, readers)
        return {
            "preamble": reader.prose(loose + reader.stray),
            "context": values.get("context"),
            "budget": values.get("budget"),
            "priority": values.get("priority"),
            "fields": tuple(values.fields),
        }

    def _step(self, outline: StepOutline) -> Step:
        source, block, heading = self.source, outline.block, outline.heading
        reader = FieldReader(source, self.faults)
        entries = read_entries(source, outline.blocks, STEP_FIELDS, self.faults)
        values = FieldValues(reader, self.faults)
        values.read(entries, self._step_readers(reader))
        span = heading_span(source, block)
        depends = values.get("depends")
        if heading and heading.depends is not None:
            start = span.start + heading.depends_start
            text = Located(heading.depends, Span(start, start + len(heading.depends)))
            depends = (*reader.references(text), *(depends or ()))
        loose = [piece for entry in entries if entry.name is None for piece in entry.pieces]
        last = outline.blocks[-1] if outline.blocks else block
        return Step(
            label=heading.label if heading else "",
            number=heading.number if heading else None,
            id="",
            title=heading.title if heading else heading_text(source, block).strip(),
            status=values.get("status") or self._marked_status(outline, span),
            target=values.get("target"),
            depends=depends,
            subscriptions=values.get("subscriptions") or (),
            touches=values.get("touches"),
            judges=values.get("judges") or (),
            timeout=values.get("timeout"),
            contract_timeout=values.get("contract_timeout"),
            budget=values.get("budget"),
            baseline=values.get("baseline"),
            evidence=values.get("evidence"),
            repeat=values.get("repeat"),
            task=values.get("task"),
            contract=values.get("contract"),
            rejects=values.get("rejects") or (),
            on_fail=values.get("on_fail"),
            notes=reader.prose(sorted(loose + reader.stray, key=lambda piece: piece.span.start)),
            fields=tuple(values.fields),
            heading=span,
            span=Span(
                source.line_starts[block.line],
                source.lines_span(block.line, max(last.after, block.after)).end,
            ),
        )

    def _step_readers(self, reader: FieldReader) -> dict[str, Callable[[FieldEntry], Any]]:
        return {
            "target": reader.word,
            "depends": reader.depends,
            "subscriptions": reader.subscriptions,
            "touches": reader.patterns,
            "judges": reader.patterns,
            "timeout": reader.duration,
            "contract_timeout": reader.duration,
            "budget": reader.budget,
            "baseline": reader.baseline,
            "evidence": reader.evidence,
            "repeat": reader.repeat,
            "task": lambda entry: reader.prose(entry.pieces),
            "contract": lambda entry: read_contract(
                self.source, entry.pieces, entry.label.span if entry.label else None, self.faults
            ),
            "rejects": reader.rejects,
            "on_fail": reader.on_fail,
            "status": reader.status,
        }

    def _marked_status(self, outline: StepOutline, span: Span) -> Located[StepStatus] | None:
        heading = outline.heading
        if heading is None or heading.status is None or heading.mark is None:
            return None
        start, end = heading.mark
        return Located(heading.status, Span(span.start + start, span.start + end))


def nested_fence(fence: Block) -> bool:
    """Say whether a fence holds the opening of another one with as few marks as its own.

    Markdown ends the outer fence at the inner one's end; whoever wrote it meant otherwise.
    """
    return fence.info.split(" ")[0].lower() in _MAY_NEST and holds_opening(fence)


def holds_opening(fence: Block) -> bool:
    """Say whether a line inside a fence would open one: same marks and a tag."""
    if fence.mark not in fence.content:
        return False
    lines = (line.strip() for line in fence.content.split("\n"))
    return any(
        line.startswith(fence.mark) and _TAG.fullmatch(line.lstrip(fence.mark[0])) for line in lines
    )


_TAG = lazy_pattern(r"[ \t]*[A-Za-z][\w+.#-]*[ \t]*")
_MAY_NEST = frozenset({"", "markdown", "md", "text", "txt", "mdx"})


def with_ids(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Give each step an id that stays when it is moved or renumbered: its title's words."""
    seen: Counter[str] = Counter()
    result = []
    for step in steps:
        slug = slugify(step.title) or "step"
        seen[slug] += 1
        count = seen[slug]
        result.append(replace(step, id=slug if count == 1 else f"{slug}-{count}"))
    return tuple(result)


def slugify(title: str) -> str:
    """Return the words of a title joined by hyphens, in any script."""
    words = "".join(c if c.isalnum() else " " for c in title.casefold()).split()
    slug = ""
    for word in words:
        if slug and len(slug) + len(word) >= 60:
            break
        slug = f"{slug}-{word}" if slug else word[:60]
    return slug
