"""Fields that were written as items of a list, each on a line of its own."""

from __future__ import annotations

from planbound.plan.edit import Edit
from planbound.plan.frontmatter import frontmatter_lines
from planbound.plan.markdown import Block, BlockKind, read_blocks
from planbound.plan.model import Plan
from planbound.source import Source, Span
from planbound.source.pattern import lazy_pattern

_MARK = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that take the marks off the items and move their content left."""
    places = {
        plan.source.position(fault.finding.span.start)[0] - 1
        for fault in plan.faults
        if fault.rule == "field-in-list"
    }
    if not places:
        return []
    skip = frontmatter_lines(plan.source)
    edits: list[Edit] = []
    for block in read_blocks(plan.source, skip=skip):
        if block.kind is BlockKind.LIST and block.line in places:
            for item in block.children:
                edits += _flatten(plan.source, item)
    return edits


def _flatten(source: Source, item: Block) -> list[Edit]:
    match = _MARK.match(source.lines[item.line])
    if match is None:
        return []
    start = source.line_starts[item.line]
    edits = [Edit(Span(start, start + match.end()), "")]
    for line in range(item.line + 1, item.after):
        text = source.lines[line]
        indent = len(text) - len(text.lstrip(" \t"))
        cut = min(indent, match.end())
        if cut:
            start = source.line_starts[line]
            edits.append(Edit(Span(start, start + cut), ""))
    return edits
