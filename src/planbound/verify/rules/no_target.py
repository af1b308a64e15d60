"""A step does not say who does it.

## What it does
Reports a step without a target. A step that a person attests needs none.

## Why it matters
The step goes to `coder`, whatever it asks for. A review by the role that wrote the code is not
what most plans mean.

## Example
```markdown
### 3. Review the change

**task:** Look for amounts that are still rounded twice.
```

## Instead
```markdown
### 3. Review the change

**target:** reviewer
**task:** Look for amounts that are still rounded twice.
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.model import Attest
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each step without a target."""
    for step in subject.plan.steps:
        if step.target is not None or isinstance(step.contract, Attest):
            continue
        if any(field.name == "target" for field in step.fields):
            continue  # empty-field reports it
        if subject.is_misspelt(step, "target"):
            continue  # unknown-field reports it
        hint = "write `**target:** coder`, or another role"
        yield Finding(step.heading, "the step has no target, so `coder` does it", hint)


RULE = Rule(code="PB205", name="no-target", severity=Severity.WARNING, check=check)
