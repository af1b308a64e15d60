"""A subscription names no file of the workspace.

## What it does
Reports a `file:` that is absolute, climbs out of the workspace with `..`, is reached through a
symbolic link that leaves it, or is a directory.

## Why it matters
A plan must mean the same on every machine, and an agent must see nothing but its workspace. What
a step gets is the content of one file.

## Example
```markdown
**subscriptions:**
- file:/etc/hosts
- file:../other/notes.md
- file:src
```

## Instead
```markdown
**subscriptions:**
- file:docs/hosts.md
- file:src/billing/invoice.py
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.model import SubscriptionKind
from planbound.source import Finding, Severity
from planbound.source.pattern import lazy_pattern
from planbound.verify.facts import PathKind
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

_ABSOLUTE = lazy_pattern(r"[/\\]|[A-Za-z]:|~(?:$|[^/]*/)")


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each subscription that is no file of the workspace."""
    for step in subject.plan.steps:
        for item in step.subscriptions:
            if item.value.kind is not SubscriptionKind.FILE:
                continue
            name = item.value.name
            kind = subject.facts.paths.get(name)
            if workspace_path(name) is None or kind is PathKind.OUTSIDE:
                message = f"`{name}` is outside the workspace"
                hint = "copy what the step needs into the workspace, or into a topic"
                yield Finding(item.span, message, hint)
            elif kind is PathKind.DIRECTORY:
                message = f"`{name}` is a directory; a subscription names one file"
                yield Finding(item.span, message, "write one `file:` for each file")


def workspace_path(path: str) -> str | None:
    """Return a path without detours; None for one that is not below the workspace root."""
    if _ABSOLUTE.match(path):
        return None
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if not names:
                return None
            names.pop()
        elif name not in {"", "."}:
            names.append(name)
    return "/".join(names)


RULE = Rule(code="PB403", name="outside-workspace", severity=Severity.ERROR, check=check)
