"""A step depends on a step that does not exist.

## What it does
Reports a dependency that is no number, or the number of no step of the plan.

## Why it matters
The step would never become ready, or would run too early: which step was meant cannot be told.

## Example
```markdown
### 2. Round once (depends on 7)
```

## Instead
```markdown
### 2. Round once (depends on 1)
```
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planbound.source import Finding, Severity, Span
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

_SHOWN = 5


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each place that names unknown steps."""
    yield from subject.faults.get("unknown-dependency", ())
    labels = {step.label for step in subject.plan.steps}
    hint = _hint([step.label for step in subject.plan.steps if step.label])
    for step in subject.plan.steps:
        unknown: dict[Span, list[str]] = {}  # a range such as `1-9` names several at one place
        for item in step.depends or ():
            if item.value not in labels:
                unknown.setdefault(item.span, []).append(item.value)
        for span, missing in unknown.items():
            yield Finding(span, _message(missing), hint)


def _message(missing: Sequence[str]) -> str:
    names = ", ".join(f"`{label}`" for label in missing[:_SHOWN])
    if len(missing) == 1:
        return f"there is no step {names}"
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return f"there are no steps {names}{more}"


def _hint(labels: Sequence[str]) -> str | None:
    if not labels:
        return None
    if len(labels) == 1:
        return f"the only step is `{labels[0]}`"
    return f"the steps are `{labels[0]}` to `{labels[-1]}`"


RULE = Rule(code="PB302", name="unknown-dependency", severity=Severity.ERROR, check=check)
