"""The steps may spend more than the plan.

## What it does
Compares the budgets of the steps with the plan's: the tokens and the dollars of all steps
together, and the time of the longest chain of steps that wait for each other.

## Why it matters
The plan's budget would run out before the last step although every step kept to its own. One of
the two numbers is wrong.

## Example
```markdown
**Budget:** $1

### 1. Find where rounding happens

**budget:** $0.80

### 2. Round once

**budget:** $0.80
```

## Instead
```markdown
**Budget:** $2
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from planbound.plan.limits import Budget, format_duration
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

_NOTHING = Budget()


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each limit that the steps' limits exceed."""
    budget = subject.plan.budget
    if budget is None:
        return
    hint = "raise the plan's budget, or lower the budgets of the steps"
    for message in _excesses(subject, budget.value):
        yield Finding(budget.span, message, hint)


def _excesses(subject: Subject, limit: Budget) -> Iterator[str]:
    plan = subject.plan
    budgets = [step.budget.value if step.budget else _NOTHING for step in plan.steps]
    tokens = sum(budget.tokens or 0 for budget in budgets)
    if limit.tokens is not None and tokens > limit.tokens:
        yield f"the steps may spend {tokens:,} tokens, the plan {limit.tokens:,}"
    dollars = sum((budget.dollars or Decimal(0) for budget in budgets), Decimal(0))
    if limit.dollars is not None and dollars > limit.dollars:
        yield f"the steps may spend {_money(dollars)}, the plan {_money(limit.dollars)}"
    if limit.seconds is not None and not subject.graph.cycles:
        own = [budget.seconds or Decimal(0) for budget in budgets]
        ends = _ends(subject.graph.edges, own)
        last = max(range(len(ends)), key=ends.__getitem__, default=None)
        if last is not None and ends[last] > limit.seconds:
            step = plan.steps[last]
            yield (
                f"the steps up to `{step.label or step.title}` may take "
                f"{format_duration(ends[last])} one after the other, the plan "
                f"{format_duration(limit.seconds)}"
            )


def _ends(edges: Sequence[Sequence[int]], own: Sequence[Decimal]) -> list[Decimal]:
    """Return for each step how long the longest chain of steps that ends with it may take."""
    ends = list(own)
    waiting = [len(before) for before in edges]
    following: list[list[int]] = [[] for _ in edges]
    for step, before in enumerate(edges):
        for other in before:
            following[other].append(step)
    ready = [step for step, count in enumerate(waiting) if count == 0]
    while ready:
        step = ready.pop()
        for other in following[step]:
            ends[other] = max(ends[other], ends[step] + own[other])
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    return ends


def _money(amount: Decimal) -> str:
    return f"${amount:.2f}" if amount == round(amount, 2) else f"${amount:f}"


RULE = Rule(code="PB208", name="budget-too-small", severity=Severity.ERROR, check=check)
