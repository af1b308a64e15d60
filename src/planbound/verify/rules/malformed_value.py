"""The value of a field cannot be read.

## What it does
Reports a value that its field does not know, such as an `on_fail` or a `baseline` in free words.

## Why it matters
The harness would act on its default instead of on what was written.

## Example
```markdown
**on_fail:** try again a bit later
```

## Instead
```markdown
**on_fail:** retry(2), then escalate
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB209",
    name="malformed-value",
    severity=Severity.ERROR,
    check=faults_of("malformed-value"),
)
