"""A field or key is not part of the language.

## What it does
Reports a `**label:**` of a step, a condition or the plan, and a key of the frontmatter, that
is not a known one, and suggests the nearest.

## Why it matters
What is not understood has no effect: a `**time limit:**` that nobody reads is a step without the
limit that its author believes in.

## Example
```markdown
### 1. Find where rounding happens

**time limit:** 5m
```

## Instead
```markdown
### 1. Find where rounding happens

**timeout:** 5m
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB105",
    name="unknown-field",
    severity=Severity.ERROR,
    check=faults_of("unknown-field"),
)
