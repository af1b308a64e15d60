"""Text in a step belongs to no field.

## What it does
Reports text of a step that stands before its first field, or behind a field that takes only one
line or a list. Comments and rules (`---`) are left alone.

## Why it matters
The agent gets the task and the subscriptions. It will not see this text, whatever it asks for.

## Example
```markdown
### 1. Find where rounding happens

Look at the tax lines too.

**task:** List every place that rounds an amount.
```

## Instead
```markdown
### 1. Find where rounding happens

**task:** List every place that rounds an amount. Look at the tax lines too.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from planbound.plan.model import Step
from planbound.source import Finding, Severity, Source, Span
from planbound.source.pattern import lazy_pattern
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

_SILENT = lazy_pattern(
    r"(?:\s+|<!--.*?(?:-->|\Z)|(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})(?=[\r\n]|\Z))+",
    re.DOTALL,
)
"""What is no text for anybody: blanks, comments, rules."""


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each step with text outside its fields."""
    yield from subject.faults.get("stray-text", ())
    for step in subject.plan.steps:
        place = _place(subject.plan.source, step)
        if place is None:
            continue
        message = "this text belongs to no field: the agent will not see it"
        hint = "put it below `**task:**`"
        if step.task is None:
            hint = "if it is the task, put `**task:**` in front of it"
        yield Finding(place, message, hint)


def _place(source: Source, step: Step) -> Span | None:
    """Return the first line of the text, or its last where fields stand in between."""
    if step.notes is None:
        return None
    start, end = step.notes.span.start, step.notes.span.end
    silent = _SILENT.match(source.text, start, end)
    start = silent.end() if silent else start
    if any(field.label.start == start for field in step.fields):
        line = source.position(end)[0] - 1
        start = max(start, source.line_starts[line])
        silent = _SILENT.match(source.text, start, end)
        start = silent.end() if silent else start
        if source.text[start:end].endswith("-->"):
            return None  # the last line of a comment
    if start >= end:
        return None
    return Span(start, min(end, source.line_span(source.position(start)[0] - 1).end))


RULE = Rule(code="PB122", name="stray-text", severity=Severity.WARNING, check=check)
