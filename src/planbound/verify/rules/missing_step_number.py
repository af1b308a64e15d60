"""A step has no number, or not the one that comes next.

## What it does
Reports a step without a number, with one that is not a whole number (`1.1`, `2a`), and every
place where the numbers do not go on by one: the first is not 1, one is left out, two are
exchanged. Behind a template such as `3-N` come `N+1`, `N+2` and so on.

## Why it matters
Dependencies, the journal and the person who answers a question name a step by its number. Where
one is missing, a step was lost on the way or the order was changed.

## Example
```markdown
### 1. Find where rounding happens
### 2. Round once
### 4. Document it
```

## Instead
```markdown
### 1. Find where rounding happens
### 2. Round once
### 3. Document it
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from planbound.plan.model import Step
from planbound.source import Finding, Severity
from planbound.source.pattern import lazy_pattern
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

_RANGE = lazy_pattern(r"(\d+)-N", re.ASCII)
_BEHIND = lazy_pattern(r"N\+(\d+)", re.ASCII)
_UNREAD = lazy_pattern(r"(?P<number>\d+(?:\.\d+)*)(?:\s+(?P<title>.*))?", re.DOTALL)
"""A title that begins with what may be meant as a number: `2.1 Round once`, `2 Round once`."""


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each place where the sequence breaks."""
    sequence = _Sequence()
    seen: set[str] = set()
    for step in subject.plan.steps:
        if step.label and step.label in seen:
            continue  # duplicate-step-number reports it
        seen.add(step.label)
        expected = sequence.expected(step)
        message = sequence.take(step)
        if message is not None:
            hint = f"write it as `### {expected}. {_title(step)}`"
            if step.number is not None:
                hint = "number the steps one by one in the order of the file"
            wanted = expected if step.label else f"{expected}."
            yield Finding(step.heading, f"{message}; expected `{wanted}`", hint)


class _Sequence:
    """The numbers so far."""

    def __init__(self) -> None:
        self.before: Step | None = None
        self.last = 0
        self.highest = 0
        self.behind: int | None = None
        """Behind a template: 0 for `3-N` itself, 1 for `N+1`; None behind a number."""
        self.templated = False
        self.unnumbered = 0
        """Steps without a usable number since the last one."""

    def expected(self, step: Step) -> str:
        """Return the label that the next step should have."""
        if self.behind is not None:
            return f"N+{self.behind + 1 + self.unnumbered}"
        number = self.last + 1 + self.unnumbered
        return f"{number}-N" if step.label == "N" or _RANGE.fullmatch(step.label) else str(number)

    def take(self, step: Step) -> str | None:
        """Go on to the next step; return what is wrong with its label."""
        before, self.before = self.before, step
        if step.number is not None:
            return self._number(step.number, before)
        if match := _BEHIND.fullmatch(step.label):
            return self._behind(int(match[1]), before)
        if match := _RANGE.fullmatch(step.label):
            return self._range(int(match[1]), before)
        if step.label == "N":
            self._open()
            return "`N` does not say which steps it stands for"
        self.unnumbered += 1
        return _unusable(step)

    def _number(self, number: int, before: Step | None) -> str | None:
        follows = self.behind is None and number in self._next()
        self.last, self.highest = number, max(number, self.highest)
        self.behind, self.unnumbered = None, 0
        return None if follows else _wrong(str(number), before)

    def _next(self) -> set[int]:
        # A step that was moved up breaks the sequence once, not again where it was taken from.
        ends = (self.last + 1, self.highest + 1)
        return {*ends, *(end + self.unnumbered for end in ends)}

    def _behind(self, number: int, before: Step | None) -> str | None:
        follows = self.behind is not None and number in {
            self.behind + 1,
            self.behind + 1 + self.unnumbered,
        }
        templated = self.templated
        self._open(number)
        if follows or templated:
            return None if follows else _wrong(f"N+{number}", before)
        return f"`N+{number}` follows no template such as `3-N`"

    def _range(self, number: int, before: Step | None) -> str | None:
        follows = self.behind is None and number in self._next()
        self._open()
        return None if follows else _wrong(f"{number}-N", before)

    def _open(self, behind: int = 0) -> None:
        self.behind, self.templated, self.unnumbered = behind, True, 0


def _unusable(step: Step) -> str:
    if step.label:
        return f"`{step.label}` is not the number of a step"
    unread = _UNREAD.fullmatch(step.title)
    return f"the heading begins with `{unread['number']}`" if unread else "the step has no number"


def _title(step: Step) -> str:
    unread = _UNREAD.fullmatch(step.title) if not step.label else None
    return (unread["title"] if unread else step.title) or "What to do"


def _wrong(label: str, before: Step | None) -> str:
    if before is None:
        return f"the first step has the number `{label}`"
    if not before.label:
        return f"the number `{label}` does not go on from the steps before"
    return f"the step after `{before.label}` has the number `{label}`"


RULE = Rule(code="PB103", name="missing-step-number", severity=Severity.ERROR, check=check)
