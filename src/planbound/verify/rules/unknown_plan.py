"""A plan depends on a plan that does not exist.

## What it does
Reports a name in `depends_on` that is no plan of the workspace: neither an active one, nor a queued
or archived one. A plan on standard input is looked at too; a file that lies elsewhere is not, since
nobody can tell which plans it will stand beside.

## Why it matters
The plan would never become ready: nobody can finish a plan that is not there.

## Example
```markdown
---
type: plan
depends_on: [mony-type]
---
```

## Instead
```markdown
---
type: plan
depends_on: [money-type]
---
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.suggest import nearest
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject, needed_plans


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each plan that is not there."""
    known = subject.facts.plans
    if known is None:
        return
    for slug, span in needed_plans(subject.plan):
        if slug not in known.waits and slug != known.slug:
            near = nearest(slug, sorted(known.waits))
            hint = f"did you mean `{near}`?" if near else "write that plan first, or take it out"
            yield Finding(span, f"there is no plan `{slug}`", hint)


RULE = Rule(code="PB305", name="unknown-plan", severity=Severity.ERROR, check=check)
