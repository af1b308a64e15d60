"""Changes of a plan's text that leave every other byte alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from planbound.plan.model import Plan, PlanStatus, Step, StepStatus
from planbound.plan.outline import read_step_heading
from planbound.plan.parse import parse_source
from planbound.source import Source, Span, lazy_pattern


class Edit(Struct, frozen=True):
    """Put `text` in the place of a span."""

    span: Span
    text: str


def apply(source: Source, edits: Iterable[Edit]) -> Source:
    """Return the source with the edits made; they must not overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        if edit.span.start < position:
            raise ValueError("edits overlap")
        parts += [source.text[position : edit.span.start], edit.text]
        position = edit.span.end
    parts.append(source.text[position:])
    return Source(path=source.path, text="".join(parts))


def edit_plan(plan: Plan, edits: Iterable[Edit]) -> Plan:
    """Return the plan that the edited text means."""
    return parse_source(apply(plan.source, edits))


def set_plan_status(plan: Plan, status: PlanStatus) -> Plan:
    """Return the plan with another status in its frontmatter; only that line changes."""
    return edit_plan(plan, [_plan_status(plan, status)])


def _plan_status(plan: Plan, status: PlanStatus) -> Edit:
    front = plan.frontmatter
    if front.status is not None:
        written = plan.source.text[front.status.span.start : front.status.span.end]
        quote = written[0] if written[:1] in {'"', "'"} else ""
        return Edit(front.status.span, f"{quote}{status.value}{quote}")
    newline = plan.source.newline
    if front.span is None:
        start = 1 if plan.source.text.startswith("\ufeff") else 0
        block = f"---{newline}type: plan{newline}status: {status.value}{newline}---{newline}"
        return Edit(Span(start, start), block + newline)
    match = _STATUS_LINE.search(plan.source.text, front.span.start, front.span.end)
    if match:  # a status that is none, or none at all behind the colon
        return Edit(Span(*match.span("value")), f" {status.value}")
    line = f"status: {status.value}{newline}"
    return Edit(Span(front.span.start, front.span.start), line)


_STATUS_LINE = lazy_pattern(r"^status:(?P<value>[^\r\n#]*?)(?=[ \t]*(?:#|\r|\n|$))", re.MULTILINE)


def _step_status(plan: Plan, step: Step, status: StepStatus) -> list[Edit]:
    edits = [_mark(plan, step, status)]
    for field in step.fields:
        if field.name == "status":
            said = f"**status: {status.in_file.value}**"
            edits.append(Edit(_status_value(plan, field.span), said))
            break
    return edits


def mark_progress(plan: Plan, status: PlanStatus, steps: Sequence[StepStatus]) -> Source:
    """Return the text with the status of the plan and of each of its steps, in their order.

    Of a step the mark in the heading changes, and the `**status: …**` line where it has one.
    """
    return ProgressMarks(plan).shown(status, steps)


class ProgressMarks:
    """The marks of one text, which is marked again and again: what stays is not made anew."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._made: list[tuple[StepStatus, list[Edit]] | None] = [None] * len(plan.steps)

    def shown(self, status: PlanStatus, steps: Sequence[StepStatus]) -> Source:
        """Return the text with its marks; see `mark_progress`."""
        edits = [_plan_status(self.plan, status)]
        for place, (step, wanted) in enumerate(zip(self.plan.steps, steps, strict=True)):
            made = self._made[place]
            if made is None or made[0] is not wanted:
                made = self._made[place] = (wanted, _step_status(self.plan, step, wanted))
            edits.extend(made[1])
        return apply(self.plan.source, edits)


def _status_value(plan: Plan, span: Span) -> Span:
    """Return the first line of a status field without the blanks at its end."""
    text = plan.source.text[span.start : span.end]
    line = re.split(r"[\r\n]", text, maxsplit=1)[0].rstrip()
    return Span(span.start, span.start + len(line))


def _mark(plan: Plan, step: Step, status: StepStatus) -> Edit:
    text = plan.source.text[step.heading.start : step.heading.end]
    heading = read_step_heading(text)
    if heading is None:
        start, end = 0, 0
    elif heading.mark is not None:
        start, end = heading.mark
    else:
        start = end = heading.title_start
    after = text[end:]
    blanks = len(after) - len(after.lstrip(" \t"))
    mark = status.mark
    if mark and not blanks:
        mark += " "
    if not mark:
        end += blanks
    before = text[:start]
    if mark and before and not before[-1].isspace():
        mark = f" {mark}"
    return Edit(Span(step.heading.start + start, step.heading.start + end), mark)
