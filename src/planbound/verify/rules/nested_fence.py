"""A fence inside a fence ends the outer one early.

## What it does
Reports a fence of text that holds the opening of another fence with as few marks as its own.

## Why it matters
Markdown ends the outer fence at the inner one's end. The rest of the outer one is read as if it
stood in the plan itself.

## Example
````markdown
```markdown
Run this:
```shell
pytest
```
```
````

## Instead
`````markdown
````markdown
Run this:
```shell
pytest
```
````
`````
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB120",
    name="nested-fence",
    severity=Severity.ERROR,
    check=faults_of("nested-fence"),
)
