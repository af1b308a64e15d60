"""A section of conditions holds no condition.

## What it does
Reports `## Preconditions` and `## Postconditions` in which no condition can be found.

## Why it matters
The heading promises a check that does not happen.

## Example
```markdown
## Postconditions

All totals agree.
```

## Instead
````markdown
## Postconditions

1. All totals agree
   ```shell
   pytest tests/billing
   ```
````
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB118",
    name="empty-section",
    severity=Severity.WARNING,
    check=faults_of("empty-section"),
)
