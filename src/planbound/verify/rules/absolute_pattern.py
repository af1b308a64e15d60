"""A pattern is absolute.

## What it does
Reports patterns of `touches`, `judges` and `expected_artifacts` that do not start at the
workspace root: `/etc/**`, `C:/x`, `~/x`.

## Why it matters
The harness looks at the workspace and nowhere else, and a plan must mean the same on every
machine.

## Example
```markdown
**touches:** /home/anna/project/src/**
```

## Instead
```markdown
**touches:** src/**
```
"""

from __future__ import annotations

from planbound.plan.glob import GlobProblem
from planbound.source import Severity
from planbound.verify.rule import Rule
from planbound.verify.rules.malformed_glob import problems_of

RULE = Rule(
    code="PB502",
    name="absolute-pattern",
    severity=Severity.ERROR,
    check=problems_of(GlobProblem.ABSOLUTE),
)
