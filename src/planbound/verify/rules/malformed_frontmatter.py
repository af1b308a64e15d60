"""The frontmatter cannot be read.

## What it does
Reports frontmatter that has no end, is not valid YAML, or has a value of the wrong kind.

## Why it matters
Nothing in it holds then: not the files that the plan may touch, not the plans that it waits
for.

## Example
```markdown
---
type: plan
touches: [src/**
---
```

## Instead
```markdown
---
type: plan
touches: ["src/**"]
---
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB110",
    name="malformed-frontmatter",
    severity=Severity.ERROR,
    check=faults_of("malformed-frontmatter"),
)
