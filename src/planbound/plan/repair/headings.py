"""Step headings as `### 1. title`, templates with an en dash."""

from __future__ import annotations

import re

from planbound.plan.edit import Edit
from planbound.plan.headings import StepHeading, read_step_heading
from planbound.plan.model import Plan, Step
from planbound.plan.outline import STEP_LEVEL


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that write each step heading in the one usual way."""
    unnumbered = bool(plan.steps) and all(not step.label for step in plan.steps)
    edits = []
    for place, step in enumerate(plan.steps, 1):
        wanted = f"{'#' * STEP_LEVEL} {_text(plan, step, place if unnumbered else None)}"
        span = plan.source.lines_span(*_lines(plan, step))
        if plan.source.text[span.start : span.end].rstrip() != wanted.rstrip():
            edits.append(Edit(span, wanted))
    return edits


def _lines(plan: Plan, step: Step) -> tuple[int, int]:
    """Return the lines of the heading: two where it is underlined."""
    first = plan.source.position(step.span.start)[0] - 1
    last = plan.source.position(step.heading.end)[0]
    if last < len(plan.source.lines) and re.match(
        r"[ \t]{0,3}(?:-+|=+)[ \t]*$", plan.source.lines[last]
    ):
        underlined = not plan.source.lines[first].lstrip().startswith("#")
        return first, last + (1 if underlined else 0)
    return first, last


def _text(plan: Plan, step: Step, number: int | None) -> str:
    text = plan.source.slice(step.heading).replace("\n", " ").strip()
    heading = read_step_heading(text)
    if heading is None:
        return f"{number}. {text}" if number else text
    if heading.canonical and not _wants_dash(text, heading):
        return text
    mark = f"{heading.status.mark} " if heading.status and heading.status.mark else ""
    label = heading.label.replace("-", "–")
    depends = f" (depends on {heading.depends.strip()})" if heading.depends else ""
    return f"{label}. {mark}{heading.title}{depends}".rstrip()


def _wants_dash(text: str, heading: StepHeading) -> bool:
    start, end = heading.number_range
    return text[start:end] != heading.label.replace("-", "–")
