"""Something is still to be filled in.

## What it does
Reports an objective, a context, a title, a task, a contract, a condition or a pattern that begins
with `TODO`, `TBD`, `FIXME` or `XXX`, as `planbound new` writes them.

## Why it matters
A placeholder is not work that anybody could do or check. It is easily left behind in a plan that
looks finished.

## Example
```markdown
**task:**
TODO: say what to do.
```

## Instead
```markdown
**task:**
Write the sums of all invoices to `out/sums.csv`, one line each.
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planbound.plan.model import Attest, Command, Contract, Plan
from planbound.plan.vocabulary import placeholder_in
from planbound.source import Finding, Severity, Span
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield a finding for each value that begins with a placeholder."""
    for what, text, span in _values(subject.plan):
        word = placeholder_in(text)
        if word:
            place = Span(span.start, min(span.end, span.start + len(word)))
            yield Finding(place, f"the {what} is still to be filled in", "say what is meant")


def _values(plan: Plan) -> Iterator[tuple[str, str, Span]]:
    if plan.objective:
        yield "objective", plan.objective.value, plan.objective.span
    if plan.context:
        yield "context", plan.context.text, plan.context.span
    for step in plan.steps:
        start = max(step.heading.start, step.heading.end - len(step.title))
        yield "title", step.title, Span(start, step.heading.end)
        if step.task:
            yield "task", step.task.text, step.task.span
        yield from _contract(step.contract)
        for pattern in step.touches or ():
            yield "pattern", pattern.value, pattern.span
    for condition in (*plan.preconditions, *plan.postconditions):
        yield "condition", condition.statement, condition.heading
        yield from _contract(condition.contract)


def _contract(contract: Contract | None) -> Iterator[tuple[str, str, Span]]:
    if isinstance(contract, Command):
        yield "contract", contract.text, contract.locate(0, len(contract.text))
    elif isinstance(contract, Attest):
        yield "statement", contract.statement, contract.span


RULE = Rule(code="PB212", name="placeholder", severity=Severity.ERROR, check=check)
