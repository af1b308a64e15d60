"""Bold words in a task look like a field, and are read as text.

## What it does
Reports a `**label:**` inside a task that is no known field and no usual opening of a sentence,
such as `**Note:**`.

## Why it matters
If a field was meant, it is only a sentence of the task now, and the harness does nothing with
it.

## Example
```markdown
**task:**
Round once, at the end.
**Reviewer:** anna
```

## Instead
```markdown
**task:**
Round once, at the end. The reviewer is Anna.
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB106",
    name="unread-label",
    severity=Severity.WARNING,
    check=faults_of("unread-label"),
)
