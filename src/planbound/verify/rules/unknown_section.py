"""A heading looks like a section of the language, and is not one.

## What it does
Reports a heading that is close to `Steps`, `Preconditions` or `Postconditions`, where the plan
has no such section.

## Why it matters
It is read as a note for people: what stands below it is never run and never checked.

## Example
```markdown
## Post-conditons

1. The totals agree
```

## Instead
```markdown
## Postconditions

1. The totals agree
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB116",
    name="unknown-section",
    severity=Severity.WARNING,
    check=faults_of("unknown-section"),
)
