"""Section headings of level 2, and one above the steps."""

from __future__ import annotations

from planbound.plan.edit import Edit
from planbound.plan.frontmatter import frontmatter_lines
from planbound.plan.markdown import Block, BlockKind, read_blocks
from planbound.plan.model import Plan
from planbound.plan.outline import SECTION_LEVEL, heading_text
from planbound.plan.vocabulary import known_section, suggest_section
from planbound.source import Source, Span


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that mend what the parser said about section headings."""
    rules = {fault.rule for fault in plan.faults}
    edits = []
    if "missing-section" in rules and plan.steps:
        edits.append(_steps_heading(plan))
    if "heading-level" in rules:
        places = {f.finding.span.start for f in plan.faults if f.rule == "heading-level"}
        skip = frontmatter_lines(plan.source)
        edits += [
            _rewritten(plan.source, block)
            for block in read_blocks(plan.source, skip=skip)
            if block.kind is BlockKind.HEADING
            and block.text_span is not None
            and block.text_span.start in places
            and known_section(heading_text(plan.source, block))
        ]
    return edits


def _steps_heading(plan: Plan) -> Edit:
    """Write `## Steps` in place of a heading that means it, else before the first step."""
    source = plan.source
    start = plan.steps[0].span.start
    headings = [
        block
        for block in read_blocks(source, skip=frontmatter_lines(source))
        if block.kind is BlockKind.HEADING and source.line_starts[block.line] < start
    ]
    if headings and headings[-1].level > 1:
        last = headings[-1]
        if suggest_section(heading_text(source, last)) == "steps":
            return Edit(source.lines_span(last.line, last.after), "## Steps")
    return Edit(Span(start, start), "## Steps\n\n")


def _rewritten(source: Source, block: Block) -> Edit:
    text = heading_text(source, block).strip()
    return Edit(source.lines_span(block.line, block.after), f"{'#' * SECTION_LEVEL} {text}")
