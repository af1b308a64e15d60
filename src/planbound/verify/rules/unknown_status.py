"""A status is not one of the known words.

## What it does
Reports a `status` of the frontmatter or a `**status:**` of a step that is no known status.

## Why it matters
The harness writes the status and people search for it: a word of one's own is found by nobody,
and says nothing about what was proved.

## Example
```markdown
**status:** nearly done
```

## Instead
```markdown
**status:** in-progress
```
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB108",
    name="unknown-status",
    severity=Severity.ERROR,
    check=faults_of("unknown-status"),
)
