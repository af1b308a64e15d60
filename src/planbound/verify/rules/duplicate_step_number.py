"""Two steps have the same number.

## What it does
Reports a step whose number another step before it has.

## Why it matters
`(depends on 2)` and `waive 2` must mean one step.

## Example
```markdown
### 2. Round once
### 2. Document it
```

## Instead
```markdown
### 2. Round once
### 3. Document it
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.model import Step
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each step whose number is taken."""
    first: dict[str, Step] = {}
    for step in subject.plan.steps:
        if not step.label:
            continue
        other = first.setdefault(step.label, step)
        if other is not step:
            line, _ = subject.plan.source.position(other.heading.start)
            message = f"the number `{step.label}` is taken by the step on line {line}"
            yield Finding(step.heading, message, "give each step a number of its own")


RULE = Rule(code="PB104", name="duplicate-step-number", severity=Severity.ERROR, check=check)
