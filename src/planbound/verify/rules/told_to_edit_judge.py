"""A task tells its step to change what judges it.

## What it does
Reports a step without `touches` whose task orders a change of a test that its own contract runs.
Such an order opens the test for the agent. The gate shows this warning first, the approval records
that it was seen, and a policy never approves over it.

## Why it matters
An agent that may edit the test can make it pass without doing the work. Words are read by rules,
and rules can read them wrongly; `touches` say the same without a doubt.

## Example
````markdown
**task:** Update `tests/test_total.py` and `src/total.py` for the new currency.

**contract:**
```shell
pytest tests/test_total.py
```
````

## Instead
````markdown
**touches:** src/total.py

**task:** Let `src/total.py` know the new currency.

**contract:**
```shell
pytest tests/test_total.py
```
````
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.command.tree import FileUse
from planbound.plan.model import Step
from planbound.source import Finding, Severity
from planbound.source.visible import visible
from planbound.verify.facts import PathKind
from planbound.verify.rule import Rule
from planbound.verify.rules.edits_own_judge import touching
from planbound.verify.subject import Subject
from planbound.verify.told_to_change import told_by
from planbound.verify.writing import shell_contracts

_HINT = "declare `touches`, or let another step write the test"


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each judge that the words of a task open."""
    for case in shell_contracts(subject):
        if not isinstance(case.owner, Step) or subject.touches(case.owner):
            continue
        judges = {
            each.path: each
            for each in case.script.files
            if each.use is FileUse.TESTED
            and subject.facts.paths.get(each.path) is not PathKind.MISSING
        }
        named = list(told_by(case.owner).named) if judges else []
        for path, reference in judges.items():
            if named and touching(subject, reference, named) is not None:
                message = (
                    f"the step is judged by `{visible(path)}`, and its task tells to change it"
                )
                yield Finding(case.command.locate(reference.start, reference.end), message, _HINT)


RULE = Rule(
    code="PB642",
    name="told-to-edit-judge",
    severity=Severity.WARNING,
    strict=Severity.ERROR,
    check=check,
)
