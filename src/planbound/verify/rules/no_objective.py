"""The plan has no objective.

## What it does
Reports a plan without a heading of level 1, or with one that has no text.

## Why it matters
The objective is what the approver approves and what the steps are measured by. It is also how a
plan is called in every list.

## Example
```markdown
## Steps

### 1. Find where rounding happens
```

## Instead
```markdown
# Round invoices to whole cents

## Steps

### 1. Find where rounding happens
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding at the first line of a plan without objective."""
    if subject.plan.objective is None:
        message = "the plan has no objective; expected a heading of level 1 with text"
        hint = "write what the plan is for as `# Round invoices to whole cents`"
        yield Finding(subject.plan.source.line_span(0), message, hint)


RULE = Rule(code="PB102", name="no-objective", severity=Severity.ERROR, check=check)
