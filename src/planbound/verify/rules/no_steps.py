"""The plan has no steps.

## What it does
Reports a plan without a single step.

## Why it matters
A plan that asks for nothing is fulfilled by doing nothing: an empty plan is never valid.

## Example
```markdown
# Round invoices

## Steps
```

## Instead
```markdown
## Steps

### 1. Find where rounding happens
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity, Span
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding at the end of a plan without steps."""
    if not subject.plan.steps:
        end = len(subject.plan.source.text)
        hint = "write each step as `### 1. What to do` below a `## Steps` heading"
        yield Finding(Span(end, end), "the plan has no steps", hint)


RULE = Rule(code="PB101", name="no-steps", severity=Severity.ERROR, check=check)
