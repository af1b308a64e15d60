"""The heading of a step is written in another way than the harness writes it.

## What it does
Reports headings such as `Step 1: Title`, `1) Title` and `**1. Title**`, and status marks in front
of the number or as check boxes. They are understood.

## Why it matters
People and tools find steps by `### N. `. The harness writes the status mark behind the number.

## Example
```markdown
### Step 1: Find where rounding happens
```

## Instead
```markdown
### 1. Find where rounding happens
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.headings import read_step_heading
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each heading in another style."""
    for step in subject.plan.steps:
        text = subject.plan.source.slice(step.heading)
        heading = read_step_heading(text)
        if heading is None or heading.canonical:
            continue
        written = " ".join(text[: heading.title_start].split())
        mark = heading.status.mark if heading.status else ""
        expected = f"{heading.label}. {mark}".rstrip()
        message = f"the heading begins with `{written}`; expected `{expected}`"
        yield Finding(step.heading, message, "run `planbound fmt` to write it so")


RULE = Rule(code="PB124", name="heading-style", severity=Severity.WARNING, check=check)
