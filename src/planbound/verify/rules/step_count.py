"""The plan has too few or too many steps.

## What it does
Reports a plan with fewer than 3 or more than 7 steps. A template counts as one step, and a plan
that has one is never too short.

## Why it matters
One or two steps need no plan. With more than seven, nobody who approves them has read each, and
the later ones are guesses about what the first will find.

## Example
A plan with twelve steps.

## Instead
Two plans of six steps, the second with `depends_on: [the-first]`.
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

FEWEST = 3
MOST = 7


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for a plan that is too short or too long."""
    steps = subject.plan.steps
    count = len(steps)
    expected = f"expected {FEWEST} to {MOST}"
    if count > MOST:
        hint = "divide it into plans that wait for each other with `depends_on`"
        yield Finding(steps[MOST].heading, f"the plan has {count} steps; {expected}", hint)
    elif 0 < count < FEWEST and not any(step.is_template for step in steps):
        noun = "step" if count == 1 else "steps"
        hint = "divide the work into steps that can be proved one by one"
        yield Finding(steps[0].heading, f"the plan has {count} {noun}; {expected}", hint)


RULE = Rule(
    code="PB206",
    name="step-count",
    severity=Severity.WARNING,
    strict=Severity.ERROR,
    check=check,
)
