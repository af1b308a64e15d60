"""A pattern climbs with `..`.

## What it does
Reports patterns of `touches`, `judges` and `expected_artifacts` with a `..` in them.

## Why it matters
Where such a pattern leads depends on what is a symbolic link on the way. What a step may change
must be readable from the pattern alone, and never lie outside the workspace.

## Example
```markdown
**touches:** ../shared/**
```

## Instead
```markdown
**touches:** shared/**
```
"""

from __future__ import annotations

from planbound.plan.glob import GlobProblem
from planbound.source import Severity
from planbound.verify.rule import Rule
from planbound.verify.rules.malformed_glob import problems_of

RULE = Rule(
    code="PB503",
    name="escaping-pattern",
    severity=Severity.ERROR,
    check=problems_of(GlobProblem.ESCAPES),
)
