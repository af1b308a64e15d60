"""A contract has a part that cannot be read.

## What it does
Reports text behind a command that is not an expectation, a second command, and an attestation
without a statement.

## Why it matters
What is not read is not checked. An expectation with a typing error would silently demand nothing.

## Example
```markdown
**contract:**
`pytest -q`
exit code should be zero
```

## Instead
````markdown
**contract:**
```shell
pytest -q
```
exit_code == 0
````
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB612",
    name="malformed-contract",
    severity=Severity.ERROR,
    check=faults_of("malformed-contract"),
)
