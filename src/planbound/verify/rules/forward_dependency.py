"""A step depends on a step that comes later.

## What it does
Reports a dependency on a step further down in the file. Where it is part of a circle,
`dependency-cycle` reports the circle.

## Why it matters
A plan is read, approved and run from top to bottom. A step that waits for a later one runs at
another place than where it is read.

## Example
```markdown
### 1. Document the rounding (depends on 2)
### 2. Round once (depends on none)
```

## Instead
```markdown
### 1. Round once
### 2. Document the rounding
```
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each dependency on a later step."""
    steps = subject.plan.steps
    index = {step.label: place for place, step in reversed(list(enumerate(steps)))}
    circular = {edge for cycle in subject.graph.cycles for edge in pairwise(cycle)}
    for place, step in enumerate(steps):
        for item in step.depends or ():
            other = index.get(item.value, place)
            if other > place and (place, other) not in circular:
                message = f"the step depends on step `{item.value}`, which comes later"
                yield Finding(item.span, message, "put the steps in the order of the work")


RULE = Rule(code="PB303", name="forward-dependency", severity=Severity.ERROR, check=check)
