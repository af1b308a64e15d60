"""A precondition has no contract.

## What it does
Reports a precondition without a command that the harness runs and without a statement that a
person attests.

## Why it matters
A precondition must hold before the first step. One that nobody checks holds by hope: the run
starts, and fails somewhere in the middle.

## Example
```markdown
## Preconditions

1. The test database is up
```

## Instead
````markdown
## Preconditions

1. The test database is up
   ```shell
   pg_isready -h localhost
   ```
````
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each precondition without a contract."""
    for condition in subject.plan.preconditions:
        if condition.contract is None:
            message = f"the precondition {condition.number} has no contract: nobody checks it"
            hint = "put a fence with a command below it, indented like its text"
            yield Finding(condition.heading, message, hint)


RULE = Rule(code="PB211", name="unchecked-precondition", severity=Severity.WARNING, check=check)
