"""A field has no value.

## What it does
Reports a label of a step or a condition with nothing behind it.

## Why it matters
A field that was begun and not finished: whether a default was meant cannot be told.

## Example
```markdown
**touches:**
**task:** Round once, at the end.
```

## Instead
```markdown
**touches:** src/billing/**
**task:** Round once, at the end.
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB210",
    name="empty-field",
    severity=Severity.ERROR,
    check=faults_of("empty-field"),
)
