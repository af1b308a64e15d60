"""Frontmatter with the keys that every plan has."""

from __future__ import annotations

from planbound.plan.edit import Edit
from planbound.plan.model import Plan
from planbound.source import Span

DEFAULT_OWNER = "orchestrator"


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that add the frontmatter, or the keys that it lacks."""
    front = plan.frontmatter
    if any(fault.rule == "malformed-frontmatter" for fault in plan.faults):
        return []
    text = plan.source.text[front.span.start : front.span.end] if front.span else ""
    present = {line.partition(":")[0].strip() for line in text.split("\n")}
    wanted = {"type": "plan", "status": "draft", "owner": DEFAULT_OWNER}
    missing = [f"{key}: {value}\n" for key, value in wanted.items() if key not in present]
    if front.span is None:
        separator = "" if plan.source.text.startswith("\n") else "\n"
        return [Edit(Span(0, 0), "---\n" + "".join(missing) + "---\n" + separator)]
    if not missing:
        return []
    return [Edit(Span(front.span.start, front.span.start), "".join(missing))]
