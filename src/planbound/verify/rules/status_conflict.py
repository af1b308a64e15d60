"""The heading of a step shows another status than its field.

## What it does
Reports a step with a status mark in its heading and a `**status: ...**` field that differ.

## Why it matters
People look at the mark, `grep` finds the field. The journal knows which is right; a file that
says both misleads one of them.

## Example
```markdown
### 1. ✅ Find where rounding happens

**status: failed**
```

## Instead
```markdown
### 1. ✅ Find where rounding happens

**status: done**
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.headings import read_step_heading
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each field that differs from the mark."""
    source = subject.plan.source
    for step in subject.plan.steps:
        if step.status is None or not any(field.name == "status" for field in step.fields):
            continue
        heading = read_step_heading(source.slice(step.heading))
        marked = heading.status if heading else None
        if marked is not None and marked is not step.status.value:
            message = (
                f"the field says `{step.status.value.value}`, the mark in the heading says "
                f"`{marked.value}`"
            )
            yield Finding(step.status.span, message, "remove one: the harness writes the status")


RULE = Rule(code="PB123", name="status-conflict", severity=Severity.WARNING, check=check)
