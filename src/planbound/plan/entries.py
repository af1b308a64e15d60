"""Labels into fields: what stands behind each `**name:**` of a step or a condition."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from planbound.plan.markdown import Block, BlockKind, Label
from planbound.plan.model import Fault
from planbound.plan.vocabulary import PROSE_LABELS, fold, known_field, suggest_field
from planbound.source import Finding, Source, Span


class Piece(Struct, frozen=True):
    """A stretch of text (`block` is None), or a block."""

    span: Span
    block: Block | None = None


class FieldEntry(Struct, frozen=True):
    """A field with all that belongs to it; `name` is None for text before the first label."""

    name: str | None
    label: Label | None
    pieces: list[Piece]
    known: bool = True

    @property
    def start(self) -> int:
        """Where the entry begins."""
        return self.label.span.start if self.label else self.pieces[0].span.start

    @property
    def end(self) -> int:
        """Where the entry ends."""
        if self.pieces:
            return self.pieces[-1].span.end
        return self.label.span.end if self.label else 0


def read_entries(
    source: Source, blocks: Sequence[Block], known: tuple[str, ...], faults: list[Fault]
) -> list[FieldEntry]:
    """Return the entries of a sequence of blocks, the text before the first label in front."""
    splitter = _Splitter(source, known, faults)
    for block in blocks:
        splitter.add(block)
    return [entry for entry in splitter.entries if entry.label or entry.pieces]


class _Splitter:
    def __init__(self, source: Source, known: tuple[str, ...], faults: list[Fault]) -> None:
        self.source = source
        self.known = known
        self.faults = faults
        self.entries = [FieldEntry(None, None, [])]

    def add(self, block: Block) -> None:
        if block.kind is BlockKind.PARAGRAPH:
            self._paragraph(block)
        elif block.kind is BlockKind.LIST and self._is_field_list(block):
            self._field_list(block)
        else:
            self._append(Piece(self.source.lines_span(block.line, block.after), block))

    def _append(self, piece: Piece) -> None:
        if piece.block is not None or self.source.text[piece.span.start : piece.span.end].strip():
            self.entries[-1].pieces.append(piece)

    def _paragraph(self, block: Block) -> None:
        start = self._text_start(block)
        end = self.source.line_span(block.after - 1).end
        for label in block.labels:
            if not self._opens(label):
                continue
            line_start = self.source.line_starts[label.line]
            self._append(Piece(Span(start, max(start, line_start))))
            self._open(label)
            start = label.span.end
        self._append(Piece(Span(min(start, end), end)))

    def _text_start(self, block: Block) -> int:
        """Return where a paragraph's text begins: behind the mark of its list item."""
        first = block.labels[0] if block.labels else None
        if first and first.line == block.line:
            return first.span.start
        return self.source.line_starts[block.line]

    def _opens(self, label: Label) -> bool:
        """Say whether a label opens a field, or is the way a sentence of the task begins."""
        if known_field(label.name, self.known):
            return True
        if label.inside is not None:
            return False
        if self.entries[-1].name not in {"task", "context"}:
            return True
        if fold(label.name) in PROSE_LABELS:
            return False
        if suggest_field(label.name, self.known):
            return True
        self.faults.append(
            Fault(
                "unread-label",
                Finding(
                    label.span,
                    f"`{label.name}` reads like a field; it is taken as part of the text above it",
                    "if it is a sentence of that text, begin it without bold letters",
                ),
            )
        )
        return False

    def _open(self, label: Label) -> None:
        name = known_field(label.name, self.known)
        if name is None:
            near = suggest_field(label.name, self.known)
            hint = f"did you mean `{near}`?" if near else f"fields are {', '.join(self.known)}"
            finding = Finding(label.span, f"unknown field `{label.name}`", hint)
            self.faults.append(Fault("unknown-field", finding))
        self.entries.append(
            FieldEntry(name or label.name.casefold(), label, [], known=name is not None)
        )

    def _is_field_list(self, block: Block) -> bool:
        """Say whether fields are written as the items of a list."""
        if self.entries[-1].name == "task":
            return False
        label = _first_label(block.children[0]) if block.children else None
        return label is not None and known_field(label.name, self.known) is not None

    def _field_list(self, block: Block) -> None:
        self.faults.append(
            Fault(
                "field-in-list",
                Finding(
                    self.source.line_span(block.line),
                    "the fields are written as items of a list",
                    "run `planbound fmt` to write each on a line of its own",
                ),
            )
        )
        for item in block.children:
            for child in item.children:
                self.add(child)


def _first_label(item: Block) -> Label | None:
    if not item.children or not item.children[0].labels:
        return None
    label = item.children[0].labels[0]
    return label if label.line == item.line else None
