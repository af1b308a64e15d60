"""A budget is lower than what the steps are likely to use.

## What it does
Adds up what one attempt at each step is likely to use, and compares it with the plan's budget: the
step's own budget, else the estimate of the configuration (`[budget] estimate`, by default 5,000
tokens, $0.02 and 30 seconds). Of the time the longest chain of steps that wait for each other
counts. A step's own budget is compared with the estimate. Tokens, dollars and time are looked at
each by itself.

Steps that a person attests do not count, nor do steps whose agent is a `command`, unless the
configuration has an estimate of its own: what a command uses, nobody knows.

## Why it matters
The run would ask for more before it is through, because no attempt begins that what is left does
not cover. A retry, which is not in the sum, would make it sooner.

## Example
```markdown
**Budget:** 10k tokens

## Steps

### 1. Find where rounding happens

### 2. Round once

### 3. Say so in the changelog
```

## Instead
```markdown
**Budget:** 100k tokens
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.spending import Short, below_estimate
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each limit that is below the estimate."""
    hint = "raise it, or say in `[budget] estimate` of the configuration what an attempt uses"
    for short in below_estimate(subject):
        yield Finding(short.span, _message(short), hint)


def _message(short: Short) -> str:
    if short.steps is None:
        return f"one attempt is likely to use {short.needed}, the step has {short.limit}"
    attempts = f"{short.steps} attempts" if short.steps != 1 else "one attempt"
    is_ = "are" if short.steps != 1 else "is"
    turn = " one after the other" if short.in_turn and short.steps != 1 else ""
    return f"{attempts}{turn} {is_} likely to use {short.needed}, the plan has {short.limit}"


RULE = Rule(code="PB214", name="budget-below-estimate", severity=Severity.WARNING, check=check)
