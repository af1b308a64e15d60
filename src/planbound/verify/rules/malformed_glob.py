"""A pattern is not written as a pattern is.

## What it does
Reports patterns of `touches`, `judges` and `expected_artifacts` that cannot be read: an unclosed
bracket, a backslash, `**` glued to other characters.

## Why it matters
A pattern that cannot be read allows nothing, or everything. Either is not what was meant.

## Example
```markdown
**touches:** src/**.py
```

## Instead
```markdown
**touches:** src/**/*.py
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from planbound.plan.glob import GlobError, GlobProblem, parse_glob
from planbound.source import Finding, Located, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject


def problems_of(problem: GlobProblem) -> Callable[[Subject], Iterable[Finding]]:
    """Return the check that reports one problem of patterns."""

    def check(subject: Subject) -> Iterable[Finding]:
        for pattern in _patterns(subject):
            if pattern.value in subject.globs:
                continue
            error = _error(pattern.value)
            if error is not None and error.problem is problem:
                yield Finding(pattern.span, error.reason, error.hint)

    return check


def _patterns(subject: Subject) -> Iterator[Located[str]]:
    plan = subject.plan
    yield from plan.frontmatter.touches
    yield from plan.frontmatter.expected_artifacts
    for step in plan.steps:
        yield from step.touches or ()
        yield from step.judges
    for condition in (*plan.preconditions, *plan.postconditions):
        yield from condition.judges


@lru_cache(maxsize=1024)
def _error(text: str) -> GlobError | None:
    try:
        parse_glob(text)
    except GlobError as error:
        return error
    return None


RULE = Rule(
    code="PB501",
    name="malformed-glob",
    severity=Severity.ERROR,
    check=problems_of(GlobProblem.INVALID),
)
