"""A budget has no room for a single attempt at each step.

## What it does
Compares the plan's budget with the least that one attempt at each step can use: 50 tokens,
$0.00001 and half a second, and of the time only that of the longest chain of steps that wait for
each other. The budget of a step is compared with one attempt. Tokens, dollars and time are looked
at each by itself. Steps that a person attests do not count. Where `[budget] estimate` in the
configuration is lower still, that counts.

## Why it matters
No agent reads its task for less, so the run would stop at its first steps whatever they do. Such a
number is a slip of the pen: `10 tokens` for `10k tokens`.

## Example
```markdown
**Budget:** max 10 tokens, $0.00001, 1 second

## Steps

### 1. Find where rounding happens

### 2. Round once

### 3. Say so in the changelog
```

## Instead
```markdown
**Budget:** max 100k tokens, $1, 20 minutes
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.spending import Short, below_minimum
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each limit that no attempt fits into."""
    hint = "raise it, or leave it out: what a plan does not limit has a safe default"
    for short in below_minimum(subject):
        yield Finding(short.span, _message(short), hint)


def _message(short: Short) -> str:
    if short.steps is None:
        return f"{short.limit} is too little: any attempt uses {short.needed} at the least"
    if short.steps == 1:
        return f"{short.limit} is too little: one attempt uses {short.needed} at the least"
    turn = " one after the other" if short.in_turn else ""
    uses = f"{short.steps} attempts{turn} use {short.needed}"
    return f"{short.limit} is too little: {uses} at the least"


RULE = Rule(code="PB213", name="budget-without-room", severity=Severity.ERROR, check=check)
