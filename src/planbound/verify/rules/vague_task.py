"""A task says nothing that could be checked.

## What it does
Reports a short task that consists of a phrase such as "improve performance" or "clean up the
code" and names nothing concrete: no file, no code, no number, no quoted text, no behaviour.

## Why it matters
The agent will do something, and whatever it does fulfils the task. No contract can be derived
from it, and no reviewer can say that it is wrong.

## Example
```markdown
**task:** Improve performance.
```

## Instead
```markdown
**task:** Improve performance of `parse()` so that 1,000 steps take under 1 s.
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.model import Code, Prose
from planbound.source import Finding, Severity, Span
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each task that is vague as a whole."""
    source = subject.plan.source
    for step in subject.plan.steps:
        phrase = _phrase(step.task) if step.task else None
        if step.task is None or phrase is None:
            continue
        line = source.line_span(source.position(step.task.span.start)[0] - 1)
        place = Span(step.task.span.start, min(step.task.span.end, line.end))
        message = f"the task is vague: `{phrase}` says nothing that can be checked"
        hint = "name the files, functions, numbers or the behaviour that shall be different"
        yield Finding(place, message, hint)


def _phrase(task: Prose) -> str | None:
    # Most tasks name something in backticks, and are not looked at any further.
    if "`" in task.text or any(isinstance(part, Code) for part in task.parts):
        return None
    from planbound.verify.vague import vague_phrase  # noqa: PLC0415 - large patterns

    return vague_phrase(task.text)


RULE = Rule(
    code="PB203",
    name="vague-task",
    severity=Severity.WARNING,
    strict=Severity.ERROR,
    check=check,
)
