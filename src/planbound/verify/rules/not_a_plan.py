"""The file says that it is something other than a plan.

## What it does
Reports frontmatter whose `type` is there and is not `plan`.

## Why it matters
A note, a decision or a report that happens to look like a plan must not be run.

## Example
```markdown
---
type: note
---
```

## Instead
```markdown
---
type: plan
---
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding at a type that is not `plan`."""
    kind = subject.plan.frontmatter.type
    if kind is not None and kind.value != "plan":
        written = " ".join(kind.value.split())
        message = f"the `type` of this file is `{written}`; expected `plan`"
        yield Finding(kind.span, message, "write `type: plan` if it is one")


RULE = Rule(code="PB112", name="not-a-plan", severity=Severity.ERROR, check=check)
