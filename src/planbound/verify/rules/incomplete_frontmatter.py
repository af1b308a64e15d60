"""The frontmatter lacks what machines look for.

## What it does
Reports a plan without frontmatter, or whose frontmatter lacks `type`, `status` or `owner`.

## Why it matters
Queues and other tools tell a plan from a note, a draft from an approved plan, and whose it is,
by these three lines, without reading the rest.

## Example
```markdown
---
type: plan
---
```

## Instead
```markdown
---
type: plan
status: draft
owner: orchestrator
---
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

_HINT = "run `planbound fmt` to write what is missing"


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding that names all that is missing."""
    missing = _missing(subject)
    if not missing or (len(missing) == 3 and "malformed-frontmatter" in subject.faults):
        return  # what cannot be read at all is reported as that
    names = ", ".join(f"`{name}`" for name in missing)
    if subject.plan.frontmatter.span is None:
        message = f"the plan has no frontmatter; expected {names}"
    else:
        message = f"the frontmatter lacks {names}"
    yield Finding(subject.plan.source.line_span(0), message, _HINT)


def _missing(subject: Subject) -> list[str]:
    frontmatter = subject.plan.frontmatter
    given = {name for name, _ in frontmatter.unread}
    if frontmatter.span is not None and any(
        frontmatter.span.start <= finding.span.start <= frontmatter.span.end
        for finding in subject.faults.get("unknown-status", ())
    ):
        given.add("status")
    values = {
        "type": frontmatter.type,
        "status": frontmatter.status,
        "owner": frontmatter.owner,
    }
    return [name for name, value in values.items() if value is None and name not in given]


RULE = Rule(code="PB111", name="incomplete-frontmatter", severity=Severity.WARNING, check=check)
