"""A fence of code is never closed.

## What it does
Reports a fence that has no closing mark.

## Why it matters
All that follows is inside it: the later steps are part of a command, or of a text, and are not
read as steps.

## Example
````markdown
**contract:**
```shell
pytest tests/billing

### 2. Round once
````

## Instead
````markdown
**contract:**
```shell
pytest tests/billing
```

### 2. Round once
````
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB119",
    name="unclosed-fence",
    severity=Severity.ERROR,
    check=faults_of("unclosed-fence"),
)
