"""Two steps that may run at the same time may change the same file.

## What it does
Reports pairs of steps of which neither waits for the other and whose own `touches` meet, up to
twenty pairs.

## Why it matters
Each would change the files under the other, and what a contract judges would be the work of two
steps at once.

## Example
```markdown
### 2. Round once (depends on 1)

**touches:** src/billing/**

### 3. Rename the module (depends on 1)

**touches:** src/**
```

## Instead
```markdown
### 2. Round once (depends on 1)

**touches:** src/billing/**

### 3. Rename the module (depends on 2)

**touches:** src/**
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from planbound.plan.glob import Glob, meeting_pairs
from planbound.source import Finding, Severity, Span
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

MAX_FINDINGS = 20


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each pair of steps, at the pattern of the later one."""
    if subject.graph.cycles or not any(subject.graph.parallel):
        return
    for earlier, later, mine, theirs in islice(_Overlaps(subject).pairs(), MAX_FINDINGS):
        other = subject.plan.steps[earlier]
        message = (
            f"`{theirs}` meets `{mine}` of step `{other.label or other.title}`, which may run at "
            "the same time"
        )
        hint = "let one of the two steps depend on the other, or narrow the patterns"
        yield Finding(_place(subject, later, theirs), message, hint)


def _place(subject: Subject, step: int, text: str) -> Span:
    touches = subject.plan.steps[step].touches or ()
    return next(pattern.span for pattern in touches if pattern.value == text)


class _Overlaps:
    """Patterns are compared once however many steps have them; sets of steps are bits."""

    def __init__(self, subject: Subject) -> None:
        self.graph = subject.graph
        self.own = [
            [pattern.value for pattern in step.touches or () if pattern.value in subject.globs]
            if self.graph.parallel[place]
            else []
            for place, step in enumerate(subject.plan.steps)
        ]
        self.together = [self._partners(place) if own else 0 for place, own in enumerate(self.own)]
        self.holders: dict[str, int] = {}
        """By pattern: the steps that have it."""
        self.reached: dict[str, int] = {}
        """By pattern: the steps that may run at the same time as one of them."""
        for place, own in enumerate(self.own):
            for text in own:
                self.holders[text] = self.holders.get(text, 0) | 1 << place
                self.reached[text] = self.reached.get(text, 0) | self.together[place]
        self.meeting = self._meeting([subject.globs[text] for text in self.holders])

    def _partners(self, place: int) -> int:
        everyone = (1 << len(self.own)) - 1
        waiting = self.graph.ancestors[place] | self.graph.descendants[place] | 1 << place
        return everyone & ~waiting

    def _meeting(self, globs: list[Glob]) -> dict[str, list[str]]:
        """Return by pattern the patterns that meet it, itself among them."""
        meeting = {glob.text: [glob.text] for glob in globs}
        pairs = meeting_pairs(
            [[glob] for glob in globs],
            lambda left, right: bool(
                self.reached[globs[left].text] & self.holders[globs[right].text]
            ),
        )
        for _, _, left, right in pairs:
            meeting[left.text].append(right.text)
            meeting[right.text].append(left.text)
        return meeting

    def pairs(self) -> Iterator[tuple[int, int, str, str]]:
        """Yield two steps and the first two patterns of theirs that meet, in order."""
        for place, own in enumerate(self.own):
            behind = self.together[place] >> place << place
            found: dict[int, tuple[str, str]] = {}
            for mine in own:
                for theirs in self.meeting[mine]:
                    for other in islice(_bits(behind & self.holders[theirs]), MAX_FINDINGS):
                        found.setdefault(other, (mine, theirs))
            for other in sorted(found):
                yield place, other, *found[other]


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


RULE = Rule(code="PB504", name="overlapping-touches", severity=Severity.WARNING, check=check)
