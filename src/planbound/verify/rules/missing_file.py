"""A subscription names a file that is not there.

## What it does
Reports a `file:` that does not exist and that no step before could write: none has it in its
`touches`, no contract names it, it is no expected artifact, and no title or task names it as what
is written. A path in a task counts as written ("move the config code to `src/config.py`"), also
below a folder that is made, unless the words around it say that it is only read, left alone or
deleted ("taken from `x`", "without changing `x`"), or the `touches` of that step leave it out.

## Why it matters
The step would start without what it was promised, and the agent would guess.

## Example
```markdown
**subscriptions:**
- file:src/biling/invoice.py
```

## Instead
```markdown
**subscriptions:**
- file:src/billing/invoice.py
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from planbound.plan.glob import Glob
from planbound.plan.model import Step, Subscription, SubscriptionKind
from planbound.source import Finding, Located, Severity
from planbound.source.pattern import lazy_pattern
from planbound.verify.facts import PathKind
from planbound.verify.named_files import NamedFiles
from planbound.verify.rule import Rule
from planbound.verify.rules.outside_workspace import workspace_path
from planbound.verify.subject import Subject

_PLACEHOLDER = lazy_pattern(r"\{\w+\}")
"""What `expand` fills in: `file:{batch}` of a template names no file yet."""
_LINES = lazy_pattern(r"(?P<path>.+?)(?:#L?|:)\d+(?:[-:]L?\d+)?", re.ASCII)


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each file that nobody writes."""
    for missing in missing_files(subject):
        if not missing.is_written_before and missing.later is None:
            name = missing.item.value.name
            message = f"there is no file `{name}`, and no step before this one writes it"
            yield Finding(missing.item.span, message, _hint(missing, name))


def _hint(missing: MissingFile, name: str) -> str:
    if match := _LINES.fullmatch(name):
        return f"a subscription names a whole file: `file:{match['path']}`"
    if _is_pattern(name):
        return "a subscription names one file, not a pattern"
    if missing.is_written_here:
        return "a step gets its subscriptions before it starts: what it writes itself is not there"
    if missing.left_out is not None:
        step = missing.left_out.label or missing.left_out.title
        return f"step `{step}` is told to write it, and may not: put it into its `touches`"
    return (
        "correct the path, or let a step before this one write it: say so in its task or `touches`"
    )


class MissingFile(NamedTuple):
    """A file that a step subscribes to and that is not there, with who could write it."""

    item: Located[Subscription]
    is_written_before: bool
    is_written_here: bool
    later: Step | None
    """The first step behind this one that could write it."""
    left_out: Step | None
    """A step before this one whose task names it, and whose touches leave it out."""


def missing_files(subject: Subject) -> Iterator[MissingFile]:
    """Yield every subscription to a file of the workspace that is not there."""
    wanted = [
        (place, item, path)
        for place, step in enumerate(subject.plan.steps)
        for item in step.subscriptions
        if item.value.kind is SubscriptionKind.FILE
        and not (step.is_template and _PLACEHOLDER.search(item.value.name))
        and subject.facts.paths.get(item.value.name) is PathKind.MISSING
        and (path := workspace_path(item.value.name)) is not None
    ]
    if not wanted:
        return
    writers = _Writers(subject, {path for _, _, path in wanted})
    for place, item, path in wanted:
        unwritable = _is_pattern(path) or _LINES.fullmatch(path)
        found = frozenset[int]() if unwritable else writers.of(path)
        later = min((writer for writer in found if writer > place), default=None)
        barred = min((each for each in writers.barred(path) if each < place), default=None)
        yield MissingFile(
            item=item,
            is_written_before=any(writer < place for writer in found),
            is_written_here=place in found,
            later=None if later is None else subject.plan.steps[later],
            left_out=None if barred is None or unwritable else subject.plan.steps[barred],
        )


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


class _Writers:
    """Which steps could write a file; of those with the same pattern only the first two.

    Who asks is one step and wants another: the first two always hold the answer.
    """

    def __init__(self, subject: Subject, wanted: set[str]) -> None:
        self.named: dict[str, list[int]] = {}
        """By path: the steps whose touches or contracts name it."""
        self.touching: dict[str, list[int]] = {}
        """By pattern: the steps that have it."""
        for place, step in enumerate(subject.plan.steps):
            for glob in subject.touches(step):
                _note(self.touching, glob.text, place)
        self.patterns: dict[tuple[str, ...], list[Glob]] = {}
        """By the names that a pattern starts with; a literal one is a path."""
        for text, places in self.touching.items():
            glob = subject.globs[text]
            if glob.is_literal:
                for place in places:
                    _note(self.named, "/".join(glob.literal_prefix), place)
            else:
                self.patterns.setdefault(glob.literal_prefix, []).append(glob)
        self.bounded = {
            place
            for place, step in enumerate(subject.plan.steps)
            if step.touches is not None or subject.plan.frontmatter.touches
        }
        """The steps that say what they may change."""
        self.unbounded = {*range(len(subject.plan.steps))} - self.bounded
        self.artifacts = {item.value for item in subject.plan.frontmatter.expected_artifacts}
        self.words = NamedFiles(wanted)
        for place, step in enumerate(subject.plan.steps):
            prose = (each.text for each in (step.task, step.notes) if each)
            self.words.take(place, (step.title, *prose))
        for case in subject.contracts:
            if isinstance(case.owner, Step):
                for reference in case.script.files:
                    if path := workspace_path(reference.path):
                        _note(self.named, path, case.place)

    def barred(self, path: str) -> set[int]:
        """Return the steps whose words name a file and whose touches leave it out."""
        return (self.words.of(path) & self.bounded) - self.of(path)

    def of(self, path: str) -> frozenset[int]:
        """Return the steps that could write a file."""
        found = {*self.named.get(path, ())} | (self.words.of(path) - self.bounded)
        if path in self.artifacts:
            found |= self.unbounded
        names = tuple(path.split("/"))
        for length in range(len(names) + 1):
            for glob in self.patterns.get(names[:length], ()):
                if glob.matches(path):
                    found.update(self.touching[glob.text])
        return frozenset(found)


def _note(steps: dict[str, list[int]], key: str, place: int) -> None:
    known = steps.setdefault(key, [])
    if len(known) < 2 and place not in known:
        known.append(place)


RULE = Rule(code="PB401", name="missing-file", severity=Severity.ERROR, check=check)
