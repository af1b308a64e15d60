"""An expectation cannot do what it is for.

## What it does
Reports `tests >= N` behind a command that runs no tests, and exit codes that contradict each
other.

## Why it matters
Where nothing runs tests, none are counted, and the contract can never pass. The same holds where
two different exit codes are demanded.

## Example
````markdown
```shell
ruff check src
```
tests >= 1
````

## Instead
````markdown
```shell
pytest tests/billing
```
tests >= 1
````
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planbound.plan.command.runner import may_run_tests
from planbound.plan.model import Command, ExitCodeIs, MinimumTests
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import shell_contracts


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each expectation that cannot hold."""
    for case in shell_contracts(subject):
        if not case.command.expectations:
            continue
        script = case.script
        if not script.broken and not any(
            may_run_tests(call) for call in script.calls if call.name not in script.functions
        ):
            yield from _uncounted(case.command)
        yield from _contradictions(case.command)


def _uncounted(command: Command) -> Iterator[Finding]:
    for item in command.expectations:
        if isinstance(item.value, MinimumTests) and item.value.minimum:
            message = f"`tests >= {item.value.minimum}` counts tests, but the command runs none"
            hint = "call a test runner such as `pytest`, or drop the expectation"
            yield Finding(item.span, message, hint)


def _contradictions(command: Command) -> Iterator[Finding]:
    first: int | None = None
    for item in command.expectations:
        if not isinstance(item.value, ExitCodeIs):
            continue
        if first is None:
            first = item.value.code
        elif item.value.code != first:
            message = f"`exit_code == {item.value.code}` contradicts `exit_code == {first}`"
            yield Finding(item.span, message, "keep one of the two")


RULE = Rule(code="PB615", name="no-effect-expectation", severity=Severity.WARNING, check=check)
