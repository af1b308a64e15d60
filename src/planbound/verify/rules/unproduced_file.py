"""A contract needs a file that nobody makes.

## What it does
Reports a file that a contract reads, runs or looks for, that does not exist, and that nobody is
told to make: it is in no `touches` of this step or one before, no task mentions it, no contract
writes it, and it is not an expected artifact.

## Why it matters
The path is misspelled, or the plan forgot to say who makes the file. Either way the contract
fails, and the agent has to guess why.

## Example
````markdown
**touches:** src/billing/**
**task:** Round once, at the end.

**contract:**
```shell
pytest tests/biling
```
````

## Instead
````markdown
**contract:**
```shell
pytest tests/billing
```
````
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from planbound.plan.command.tree import FileReference, FileUse
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import Condition, Step
from planbound.source import Finding, Severity
from planbound.source.pattern import lazy_pattern
from planbound.source.visible import visible
from planbound.verify.facts import PathKind
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import shell_contracts


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each contract and missing file."""
    paths = subject.facts.paths
    makers: _Makers | None = None
    for case in shell_contracts(subject):
        seen: set[str] = set()
        for reference in case.script.files:
            path = reference.path
            if paths.get(path) is not PathKind.MISSING or not _is_needed(reference):
                continue
            makers = makers or _Makers(subject)
            if path in seen or makers.first(path) <= makers.place(case.owner, case.place):
                continue
            seen.add(path)
            message = f"there is no `{visible(path)}`, and nothing before this contract makes it"
            hint = "correct the path, or let a step have it in its `touches`"
            yield Finding(case.command.locate(reference.start, reference.end), message, hint)


# What can be the name of a file in a sentence: no slash, no quotation mark, no blank.
_NAME = lazy_pattern(r"[\w.+@~-]+")


def _is_needed(reference: FileReference) -> bool:
    return reference.use is not FileUse.WRITTEN and not reference.optional


class _Makers:
    """Who could make a file first. A step has its place in the plan, a precondition has -1."""

    def __init__(self, subject: Subject) -> None:
        self.known: dict[str, int] = {}
        self.never = len(subject.plan.steps) + 1
        self.before = {id(condition) for condition in subject.plan.preconditions}
        self.artifacts = {item.value for item in subject.plan.frontmatter.expected_artifacts}
        self.mentioned: dict[str, int] = {}
        """By file name: the first step that speaks of it."""
        self._take_words(subject)
        self.written: dict[str, int] = {}
        """By path: the first contract that writes it."""
        for case in subject.contracts:
            for reference in case.script.files:
                if reference.use is FileUse.WRITTEN:
                    place = self.place(case.owner, case.place)
                    self.written.setdefault(reference.path, place)
        self.products = sorted(self.written)
        self.globs: dict[str, list[tuple[int, Glob]]] = {}
        """By the directory that a pattern starts with, as far as it is literal."""
        self._take_touches(subject)
        self.prefixes = sorted(self.globs)

    def _take_words(self, subject: Subject) -> None:
        for place, step in enumerate(subject.plan.steps):
            for text in (step.title, *(part.text for part in (step.task, step.notes) if part)):
                for name in _NAME.findall(text):
                    self.mentioned.setdefault(name.rstrip("."), place)

    def _take_touches(self, subject: Subject) -> None:
        seen: set[str] = set()
        for place, step in enumerate(subject.plan.steps):
            for glob in subject.touches(step):
                if glob.text not in seen:
                    seen.add(glob.text)
                    prefix = "".join(f"{name}/" for name in glob.literal_prefix)
                    self.globs.setdefault(prefix, []).append((place, glob))

    def place(self, owner: Step | Condition, index: int) -> int:
        """Return the place of a contract."""
        return -1 if id(owner) in self.before else index

    def first(self, path: str) -> int:
        """Return the place of the first that could make a file."""
        if path not in self.known:
            self.known[path] = min(self._places(path), default=self.never)
        return self.known[path]

    def _places(self, path: str) -> Iterator[int]:
        if path in self.artifacts:
            yield 0
        mentioned = self.mentioned.get(path.rsplit("/", 1)[-1].rstrip("."))
        if mentioned is not None:
            yield mentioned
        yield from self._writing(path)
        yield from self._touching(path)

    def _writing(self, path: str) -> Iterator[int]:
        """Yield who writes the path, something above it, or something below it."""
        names = path.split("/")
        for length in range(1, len(names) + 1):
            place = self.written.get("/".join(names[:length]))
            if place is not None:
                yield place
        yield from (self.written[each] for each in _starting_with(self.products, f"{path}/"))

    def _touching(self, path: str) -> Iterator[int]:
        names = path.split("/")
        below = _below(path)
        for length in range(len(names)):
            prefix = "".join(f"{name}/" for name in names[:length])
            for place, glob in self.globs.get(prefix, ()):
                if glob.matches(path) or (below and glob.intersects(below)):
                    yield place
        # What starts with the path is the path itself, or below it.
        for prefix in _starting_with(self.prefixes, f"{path}/"):
            yield from (place for place, _ in self.globs[prefix])


def _below(path: str) -> Glob | None:
    try:
        return parse_glob(f"{path}/**")
    except GlobError:
        return None


def _starting_with(texts: list[str], start: str) -> Iterator[str]:
    """Yield those of sorted texts that start so."""
    for index in range(bisect_left(texts, start), len(texts)):
        if not texts[index].startswith(start):
            return
        yield texts[index]


RULE = Rule(code="PB610", name="unproduced-file", severity=Severity.WARNING, check=check)
