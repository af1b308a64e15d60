"""A field is given twice.

## What it does
Reports the second of two fields, or keys of the frontmatter, with the same name.

## Why it matters
Only one of the two can hold, and whoever reads the file cannot know which.

## Example
```markdown
**timeout:** 5m
**timeout:** 20m
```

## Instead
```markdown
**timeout:** 20m
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB107",
    name="duplicate-field",
    severity=Severity.ERROR,
    check=faults_of("duplicate-field"),
)
