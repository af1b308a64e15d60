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

from collections.abc import Iterable, Iterator
from decimal import Decimal

from planbound.plan.limits import Budget, format_duration
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.spending import format_amount, longest
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
        asked, most = (format_amount(each, "dollars") for each in (dollars, limit.dollars))
        yield f"the steps may spend {asked}, the plan {most}"
    if limit.seconds is not None and not subject.graph.cycles:
        own = [(budget.seconds or Decimal(0), 1) for budget in budgets]
        ends = [end for end, _ in longest(subject.graph.edges, own)]
        last = max(range(len(ends)), key=ends.__getitem__, default=None)
        if last is not None and ends[last] > limit.seconds:
            step = plan.steps[last]
            yield (
                f"the steps up to `{step.label or step.title}` may take "
                f"{format_duration(ends[last])} one after the other, the plan "
                f"{format_duration(limit.seconds)}"
            )


RULE = Rule(code="PB208", name="budget-too-small", severity=Severity.ERROR, check=check)
