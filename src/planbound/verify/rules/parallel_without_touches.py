"""A step that may run beside others does not say what it changes.

## What it does
Reports a step without `touches` of its own of which some other step is independent.

## Why it matters
Two steps at the same time are safe only if they change different files. Without `touches`
nobody can tell.

## Example
```markdown
### 2. Round once (depends on 1)
### 3. Document it (depends on 1)
```

## Instead
```markdown
### 2. Round once (depends on 1)

**touches:** src/billing/**

### 3. Document it (depends on 1)

**touches:** docs/**
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.model import Attest
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each such step."""
    if subject.graph.cycles:
        return
    for step, parallel in zip(subject.plan.steps, subject.graph.parallel, strict=True):
        if not parallel or isinstance(step.contract, Attest):
            continue
        if any(field.name == "touches" for field in step.fields):
            continue
        message = "the step may run at the same time as another and has no `touches` of its own"
        hint = "write the files that it may change to `**touches:**`, or depend on the other"
        yield Finding(step.heading, message, hint)


RULE = Rule(code="PB505", name="parallel-without-touches", severity=Severity.WARNING, check=check)
