"""A step may change what it is judged by.

## What it does
Reports a step whose `touches` hold a test, a script or a configuration that its own contract runs,
or a file that it names under `judges`. Files that the contract only reads are the work itself and
fine.

## Why it matters
An agent that may edit the test can make it pass without doing the work.

## Example
````markdown
**touches:** src/billing/**, tests/**

**contract:**
```shell
pytest tests/billing
```
````

## Instead
````markdown
**touches:** src/billing/**

**contract:**
```shell
pytest tests/billing
```
````
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planbound.plan.command.tree import FileReference, FileUse
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import Step
from planbound.source import Finding, Severity
from planbound.source.visible import visible
from planbound.verify.facts import PathKind
from planbound.verify.rule import Rule
from planbound.verify.subject import ContractCase, Subject
from planbound.verify.writing import shell_contracts

_JUDGES = frozenset({FileUse.EXECUTED, FileUse.TESTED, FileUse.CONFIGURED})
_SPECIAL = frozenset("*?[{")
_HINT = "let another step write it, and take it out of this step's `touches`"


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each judge that the step may change."""
    for case in shell_contracts(subject):
        if isinstance(case.owner, Step):
            judges = [each for each in case.script.files if each.use in _JUDGES]
            if judges and (touches := subject.touches(case.owner)):
                yield from _references(subject, case, judges, touches)
    for step in subject.plan.steps:
        if step.judges:
            yield from _declared(step, subject.touches(step))


def _references(
    subject: Subject, case: ContractCase, judges: list[FileReference], touches: list[Glob]
) -> Iterator[Finding]:
    seen: set[str] = set()
    for reference in judges:
        if reference.path in seen:
            continue
        seen.add(reference.path)
        pattern = touching(subject, reference, touches)
        if pattern is not None:
            message = (
                f"the step is judged by `{visible(reference.path)}`, "
                f"but may change it: `{pattern.text}` is in its `touches`"
            )
            yield Finding(case.command.locate(reference.start, reference.end), message, _HINT)


def touching(subject: Subject, reference: FileReference, touches: list[Glob]) -> Glob | None:
    """Return the pattern that lets the step change a judge, or something below it."""
    path = reference.path
    touches = [pattern for pattern in touches if not _are_apart(pattern.text, path)]
    if not touches:
        return None
    for pattern in touches:
        if pattern.matches(path):
            return pattern
    kind = subject.facts.paths.get(path)
    is_file = "." in path.rsplit("/", 1)[-1] and kind is not PathKind.DIRECTORY
    if is_file or kind is PathKind.FILE or reference.use is FileUse.CONFIGURED:
        return None
    try:
        below = parse_glob(f"{path}/**")
    except GlobError:
        return None
    return next((pattern for pattern in touches if pattern.intersects(below)), None)


def _are_apart(pattern: str, path: str) -> bool:
    """Say whether a pattern and a path start with different names; cheap, and mostly so."""
    first = pattern.partition("/")[0]
    return first != path.partition("/")[0] and first != "." and not _SPECIAL & {*first}


def _declared(step: Step, touches: list[Glob]) -> Iterator[Finding]:
    """Yield what a step names under `judges` and may change all the same."""
    for judge in step.judges:
        try:
            named = parse_glob(judge.value)
        except GlobError:
            continue
        pattern = next((each for each in touches if each.intersects(named)), None)
        if pattern is not None:
            message = (
                f"`{judge.value}` is a judge of the step, "
                f"but may be changed by it: `{pattern.text}` is in its `touches`"
            )
            yield Finding(judge.span, message, _HINT)


RULE = Rule(
    code="PB609",
    name="edits-own-judge",
    severity=Severity.WARNING,
    strict=Severity.ERROR,
    check=check,
)
