"""Plans wait for each other in a circle.

## What it does
Reports a plan in `depends_on` that waits for this one, or is in a circle of others, with the whole
way. What is done waits for nothing any more, so a way through it is no circle.

## Why it matters
None of them can ever start.

## Example
```markdown
---
type: plan
depends_on: [rounding]
---
```
in the plan `money-type`, where `rounding` depends on `money-type`.

## Instead
Take one of the plans out of a `depends_on`, or put what both need into a third plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject, needed_plans

_SHOWN = 10
_HINT = "take one of them out of a `depends_on`"


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each dependency that leads into a circle."""
    known = subject.facts.plans
    if known is None:
        return
    own = known.slug
    for slug, span in needed_plans(subject.plan):
        back = None if own is None else _way(slug, known.waits, own.__eq__)
        if own is not None and back is not None:
            message = f"these plans wait for each other: {_arrows([own, *back])}"
            yield Finding(span, message, _HINT)
            continue
        lost = _way(slug, known.waits, lambda at: _circle(at, known.waits) is not None)
        if lost is not None:
            circle = _circle(lost[-1], known.waits) or []
            start = [] if own is None else [own]
            message = f"`{lost[-1]}` waits for itself: {_arrows([*start, *lost, *circle[1:]])}"
            yield Finding(span, message, _HINT)


def _circle(slug: str, waits: Mapping[str, tuple[str, ...]]) -> list[str] | None:
    """Return the shortest way from a plan back to itself; None where there is none."""
    ways = (_way(other, waits, slug.__eq__) for other in waits.get(slug, ()))
    found = [[slug, *way] for way in ways if way is not None]
    return min(found, key=len) if found else None


def _way(
    start: str, waits: Mapping[str, tuple[str, ...]], is_end: Callable[[str], bool]
) -> list[str] | None:
    """Return the shortest way, both ends included; the start alone may be all of it."""
    before: dict[str, str | None] = {start: None}
    pending = deque([start])
    while pending:
        at = pending.popleft()
        if is_end(at):
            way, step = [], before[at]
            way.append(at)
            while step is not None:
                way.append(step)
                step = before[step]
            return way[::-1]
        for following in waits.get(at, ()):
            if following not in before:
                before[following] = at
                pending.append(following)
    return None


def _arrows(way: list[str]) -> str:
    if len(way) > _SHOWN:
        half = _SHOWN // 2
        way = [*way[:half], "…", *way[-half:]]
    return f"`{' → '.join(way)}`"


RULE = Rule(code="PB306", name="plan-cycle", severity=Severity.ERROR, check=check)
