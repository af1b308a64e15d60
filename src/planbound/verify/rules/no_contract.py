"""A step has no contract.

## What it does
Reports a step without a command that the harness runs and without a statement that a person
attests. Where `[gate] approval = true` and `require` is `"claimed"`, agents in the loop may claim
such a step with evidence, so that it is not reported.

## Why it matters
A step is done when the harness has seen its contract pass. One without a contract can never be
proved, only claimed.

## Example
```markdown
### 1. Find where rounding happens

**task:** List every place that rounds an amount in `docs/rounding.md`.
```

## Instead
````markdown
### 1. Find where rounding happens

**task:** List every place that rounds an amount in `docs/rounding.md`.
**contract:**
```shell
grep -q '^- src/' docs/rounding.md
```
exit_code == 0
````
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

_HINT = (
    "put a command into a `shell` fence below `**contract:**`, or write "
    '`**contract:** attest "what a person confirms"`'
)


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each step without a contract."""
    if subject.facts.claims:
        return
    for step in subject.plan.steps:
        if step.contract is None and not subject.is_misspelt(step, "contract"):
            labels = [field.label for field in step.fields if field.name == "contract"]
            message = "the step has no contract: nobody can say when it is done"
            if labels:
                message = "the contract holds no command and no statement"
            yield Finding(labels[0] if labels else step.heading, message, _HINT)


RULE = Rule(code="PB201", name="no-contract", severity=Severity.ERROR, check=check)
