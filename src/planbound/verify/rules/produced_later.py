"""A step gets a file that only a later step writes.

## What it does
Reports a `file:` that does not exist, that no step before could write, and that a later one
could: it has it in its `touches`, its contract names it, or its task names it as what it writes.

## Why it matters
The file is not there when the step starts. The steps are in the wrong order, or the subscription
belongs to another step.

## Example
```markdown
### 1. Write the migration

**subscriptions:** file:docs/schema.md

### 2. Describe the schema

**touches:** docs/schema.md
```

## Instead
```markdown
### 1. Describe the schema

**touches:** docs/schema.md

### 2. Write the migration

**subscriptions:** file:docs/schema.md
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.rules.missing_file import missing_files
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each file that comes too late."""
    for missing in missing_files(subject):
        if missing.later is None or missing.is_written_before:
            continue
        name = missing.item.value.name
        writer = missing.later.label or missing.later.title
        message = f"there is no file `{name}` yet: the first step to write it is `{writer}`"
        hint = f"put step `{writer}` before this one, or drop the subscription"
        yield Finding(missing.item.span, message, hint)


RULE = Rule(code="PB402", name="produced-later", severity=Severity.ERROR, check=check)
