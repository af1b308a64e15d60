"""A fence that holds another one gets more marks than the one inside."""

from __future__ import annotations

import re

from planbound.plan.edit import Edit
from planbound.plan.markdown import Block, BlockKind, read_blocks
from planbound.plan.model import Plan
from planbound.plan.parse import nested_fence
from planbound.source import Source, Span
from planbound.source.pattern import lazy_pattern

_FENCE = lazy_pattern(r"(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that lengthen the first outer fence that an inner one ends early."""
    if not any(fault.rule == "nested-fence" for fault in plan.faults):
        return []
    for block in read_blocks(plan.source):
        for inner in block.walk():
            if inner.kind is BlockKind.FENCE and nested_fence(inner):
                edits = _lengthen(plan.source, inner)
                if edits:
                    return edits
    return []


def _lengthen(source: Source, fence: Block) -> list[Edit]:
    opening = _FENCE.match(source.lines[fence.line])
    if opening is None:
        return []
    depth, longest = 1, len(opening["mark"])
    for line in range(fence.line + 1, len(source.lines)):
        match = _FENCE.match(source.lines[line])
        if match is None or match["mark"][0] != opening["mark"][0]:
            continue
        longest = max(longest, len(match["mark"]))
        depth += 1 if match["info"].strip() else -1
        if depth == 0:
            mark = opening["mark"][0] * (longest + 1)
            return [_mark(source, fence.line, opening, mark), _mark(source, line, match, mark)]
    return []


def _mark(source: Source, line: int, match: re.Match[str], mark: str) -> Edit:
    start = source.line_starts[line]
    return Edit(Span(start + match.start("mark"), start + match.end("mark")), mark)
