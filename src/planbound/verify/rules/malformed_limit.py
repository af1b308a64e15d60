"""A time limit or a budget cannot be read.

## What it does
Reports a `timeout`, `contract_timeout` or `budget` that is not an amount with a unit.

## Why it matters
A limit that cannot be read is no limit.

## Example
```markdown
**timeout:** 10
**budget:** a few dollars
```

## Instead
```markdown
**timeout:** 10m
**budget:** $3
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB207",
    name="malformed-limit",
    severity=Severity.ERROR,
    check=faults_of("malformed-limit"),
)
