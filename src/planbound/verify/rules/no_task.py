"""A step has no task.

## What it does
Reports a step that does not say what the agent shall do. A step that a person attests needs no
task.

## Why it matters
The task is all that the agent gets besides its subscriptions. The title alone leaves it to
guess.

## Example
```markdown
### 1. Find where rounding happens

**target:** coder
```

## Instead
```markdown
### 1. Find where rounding happens

**target:** coder
**task:** List every place that rounds an amount, with file and line, in `docs/rounding.md`.
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.model import Attest
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each step without a task."""
    for step in subject.plan.steps:
        if step.task is not None or isinstance(step.contract, Attest):
            continue
        labels = [field.label for field in step.fields if field.name == "task"]
        message = "the task is empty" if labels else "the step has no task"
        hint = "write below `**task:**` what the agent shall do"
        yield Finding(labels[0] if labels else step.heading, message, hint)


RULE = Rule(code="PB202", name="no-task", severity=Severity.ERROR, check=check)
