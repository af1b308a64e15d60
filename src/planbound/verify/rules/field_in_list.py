"""Fields are written as the items of a list.

## What it does
Reports fields such as `- **target:** coder`.

## Why it matters
They are read, but they are harder to tell from the lists inside a field, and the harness writes
them differently.

## Example
```markdown
- **target:** coder
- **timeout:** 5m
```

## Instead
```markdown
**target:** coder
**timeout:** 5m
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB121",
    name="field-in-list",
    severity=Severity.WARNING,
    check=faults_of("field-in-list"),
)
