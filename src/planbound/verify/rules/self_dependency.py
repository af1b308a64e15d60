"""A step depends on itself.

## What it does
Reports a step that names its own number among its dependencies.

## Why it matters
It would wait for itself for ever.

## Example
```markdown
### 2. Round once (depends on 2)
```

## Instead
```markdown
### 2. Round once (depends on 1)
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each dependency of a step on itself."""
    seen: set[str] = set()
    for step in subject.plan.steps:
        if step.label in seen:
            continue  # a second step of the same number means the first one
        seen.add(step.label)
        for item in step.depends or ():
            if item.value == step.label:
                message = f"the step `{step.label}` depends on itself"
                yield Finding(item.span, message, "name the steps that must be done before it")


RULE = Rule(code="PB301", name="self-dependency", severity=Severity.ERROR, check=check)
