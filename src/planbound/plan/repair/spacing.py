"""A blank line before and after every heading, and behind the frontmatter."""

from __future__ import annotations

from planbound.plan.edit import Edit
from planbound.plan.frontmatter import frontmatter_lines
from planbound.plan.markdown import BlockKind, read_blocks
from planbound.plan.model import Plan
from planbound.source import Span


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that set headings apart."""
    source = plan.source
    skip = frontmatter_lines(source)
    wanted: set[int] = set()  # lines before which a blank line belongs
    for block in read_blocks(source, skip=skip):
        if block.kind is BlockKind.HEADING:
            wanted |= {block.line, block.after}
    if skip:
        wanted.add(skip)
    return [
        Edit(Span(source.line_starts[line], source.line_starts[line]), "\n")
        for line in sorted(wanted)
        if 0 < line < len(source.lines)
        and source.lines[line].strip()
        and source.lines[line - 1].strip()
    ]
