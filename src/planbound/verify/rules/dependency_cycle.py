"""Steps wait for each other in a circle.

## What it does
Reports steps that depend on each other, with the whole circle, at the dependency on a later step
that closes it.

## Why it matters
None of them can ever start.

## Example
```markdown
### 1. Find where rounding happens (depends on 3)
### 2. Round once (depends on 1)
### 3. Document it (depends on 2)
```

## Instead
```markdown
### 1. Find where rounding happens
### 2. Round once (depends on 1)
### 3. Document it (depends on 2)
```
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from planbound.source import Finding, Severity, Span
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

_SHOWN = 10


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each circle."""
    for cycle in subject.graph.cycles:
        place, other = _closing(cycle)
        span = _written(subject, place, subject.plan.steps[other].label)
        message = f"the steps wait for each other: {_path(subject, cycle)}"
        yield Finding(span, message, "remove one of these dependencies")


def _closing(cycle: Sequence[int]) -> tuple[int, int]:
    """Return the dependency that a plan without circles could not have: on a later step."""
    return next(edge for edge in reversed(list(pairwise(cycle))) if edge[0] < edge[1])


def _written(subject: Subject, place: int, label: str) -> Span:
    step = subject.plan.steps[place]
    spans = [item.span for item in step.depends or () if item.value == label]
    return spans[0] if spans else step.heading


def _path(subject: Subject, cycle: Sequence[int]) -> str:
    labels = [subject.plan.steps[place].label or "?" for place in cycle]
    if len(labels) > _SHOWN:
        half = _SHOWN // 2
        labels = [*labels[:half], "…", *labels[-half:]]
    return f"`{' → '.join(labels)}`"


RULE = Rule(code="PB304", name="dependency-cycle", severity=Severity.ERROR, check=check)
