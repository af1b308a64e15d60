"""Commands below a condition, moved in so that they belong to it."""

from __future__ import annotations

from planbound.plan.edit import Edit
from planbound.plan.model import Command, Condition, Plan, Wrapping
from planbound.source import Span
from planbound.source.pattern import lazy_pattern

_ITEM = lazy_pattern(r"[ \t]*(?:\d{1,9}[.)]|[-*+])[ \t]+")


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that indent what stands at the margin behind a condition."""
    edits: list[Edit] = []
    for condition in (*plan.preconditions, *plan.postconditions):
        edits += _indent(plan, condition)
    return edits


def _indent(plan: Plan, condition: Condition) -> list[Edit]:
    source, contract = plan.source, condition.contract
    if not isinstance(contract, Command) or contract.wrapping is not Wrapping.FENCE:
        return []
    statement = source.position(condition.heading.start)[0] - 1
    mark = _ITEM.match(source.lines[statement])
    first = source.position(contract.span.start)[0] - 1
    if mark is None or source.lines[first][:1].isspace():
        return []
    ends = [contract.span.end, *(item.span.end for item in contract.expectations)]
    last = source.position(max(ends))[0]
    return [
        Edit(Span(source.line_starts[line], source.line_starts[line]), " " * mark.end())
        for line in range(first, last)
        if source.lines[line].strip()
    ]
