"""A step has no title.

## What it does
Reports a step whose heading holds a number and nothing else.

## Why it matters
The title is how people, the journal and the progress lines name the step, and its id is made from
it.

## Example
```markdown
### 2.
```

## Instead
```markdown
### 2. Round once, at the end
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each step without a title."""
    for step in subject.plan.steps:
        if not step.title:
            hint = "say in a few words what the step does"
            yield Finding(step.heading, "the step has no title", hint)


RULE = Rule(code="PB126", name="empty-title", severity=Severity.ERROR, check=check)
