"""There are two sections of the same name.

## What it does
Reports the second `## Steps`, `## Preconditions` or `## Postconditions`.

## Why it matters
Two lists of steps have two beginnings. The order of the work must be read from the file, not
guessed.

## Example
```markdown
## Steps

### 1. Find where rounding happens

## Steps

### 2. Round once
```

## Instead
```markdown
## Steps

### 1. Find where rounding happens

### 2. Round once
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB117",
    name="duplicate-section",
    severity=Severity.ERROR,
    check=faults_of("duplicate-section"),
)
