"""A heading has another level than its place asks for.

## What it does
Reports a section that is not written with `##` and a step that is not written with `###`.

## Why it matters
The plan is read as it was most likely meant, but other tools and the next author see another
outline.

## Example
```markdown
# Steps

## 1. Find where rounding happens
```

## Instead
```markdown
## Steps

### 1. Find where rounding happens
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB114",
    name="heading-level",
    severity=Severity.WARNING,
    check=faults_of("heading-level"),
)
