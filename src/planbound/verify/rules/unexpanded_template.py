"""A step is a template that nobody wrote out.

## What it does
Reports steps such as `3-N` and `N+1`, which stand for steps whose number is not known yet.

## Why it matters
Nobody can approve work of which it is not said how much it is: a plan that still holds a
template cannot be approved.

## Example
```markdown
### 3-N. Migrate file batch
### N+1. Clean up
```

## Instead
```markdown
### 3. Migrate file batch 1
### 4. Migrate file batch 2
### 5. Clean up
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each template."""
    templates = [step for step in subject.plan.steps if step.is_template]
    # `N+1` gets its number when the template before it is written out.
    first = next((step.label for step in templates if not step.label.startswith("N+")), "K-N")
    for step in templates:
        label = first if step.label.startswith("N+") else step.label
        message = f"`{step.label}` is a template: a plan that still holds one cannot be approved"
        how = "--batches FILE" if "{batch}" in subject.plan.source.text else "--count K"
        hint = f"write it out with `planbound expand PLAN --step {label} {how}`"
        yield Finding(step.heading, message, hint)


RULE = Rule(
    code="PB109",
    name="unexpanded-template",
    severity=Severity.WARNING,
    strict=Severity.ERROR,
    check=check,
)
