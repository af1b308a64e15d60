"""The steps stand under no `## Steps` heading.

## What it does
Reports the first step of a plan whose steps are not in a section of their own.

## Why it matters
Without the section only a numbered heading with fields is taken for a step, so one with a slip
in its heading would be read as a note.

## Example
```markdown
# Round invoices

### 1. Find where rounding happens

**target:** coder
```

## Instead
```markdown
# Round invoices

## Steps

### 1. Find where rounding happens

**target:** coder
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB115",
    name="missing-section",
    severity=Severity.WARNING,
    check=faults_of("missing-section"),
)
