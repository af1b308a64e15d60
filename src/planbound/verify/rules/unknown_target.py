"""A step has a target that no agent plays.

## What it does
Reports a target that is none of the roles of the workspace, and suggests the nearest.

## Why it matters
The run would stop at this step, after all the work before it.

## Example
```markdown
**target:** codr
```

## Instead
```markdown
**target:** coder
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.suggest import nearest
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each unknown target."""
    roles = subject.facts.roles
    hints: dict[str, str] = {}
    for step in subject.plan.steps:
        if step.target is None or step.target.value in roles:
            continue
        name = step.target.value
        if name not in hints:
            near = nearest(name, roles)
            known = ", ".join(f"`{role}`" for role in sorted(roles))
            hints[name] = f"did you mean `{near}`?" if near else f"the roles are {known}"
        yield Finding(step.target.span, f"unknown target `{name}`", hints[name])


RULE = Rule(code="PB204", name="unknown-target", severity=Severity.ERROR, check=check)
