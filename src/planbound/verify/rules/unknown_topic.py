"""A subscription names a topic that is not there.

## What it does
Reports a `topic:` without a page in `.harness/topics/`, or whose name is not a plain name.

## Why it matters
The step would start without what it was promised, and the agent would guess.

## Example
```markdown
**subscriptions:** topic:../secrets
```

## Instead
```markdown
**subscriptions:** topic:rounding
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.model import SubscriptionKind
from planbound.source import Finding, Severity
from planbound.source.pattern import lazy_pattern
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

_NAME = lazy_pattern(r"(?!\.\.?$)[^/\\\x00-\x1f\x7f]+")


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each topic that cannot be given to a step."""
    for step in subject.plan.steps:
        for item in step.subscriptions:
            if item.value.kind is not SubscriptionKind.TOPIC:
                continue
            name = item.value.name
            if not _NAME.fullmatch(name):
                message = f"`{name}` is not the name of a topic; expected one plain name"
                yield Finding(item.span, message, "write `topic:rounding`, without a path")
            elif name in subject.facts.missing_topics:
                plain = name.removesuffix(".md")
                hint = f"write `.harness/topics/{plain}.md`"
                if plain != name:
                    hint = f"leave out the ending: `topic:{plain}`"
                yield Finding(item.span, f"there is no topic `{name}`", hint)


RULE = Rule(code="PB404", name="unknown-topic", severity=Severity.ERROR, check=check)
