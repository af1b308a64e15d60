"""An expectation cannot do what it is for.

## What it does
Reports `tests >= N`, `failed <= N` and `no new failures` behind a command that runs no tests, the
last two also behind a runner that does not name its tests or is not the last command, and exit
codes that contradict each other.

## Why it matters
Where nothing runs tests, none are counted, and the contract can never pass. The same holds where
tests are to be compared by their names and no report has these, and where two different exit codes
are demanded. What follows a runner is not run when tests fail.

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

from planbound.plan.command import Script
from planbound.plan.command.runner import is_followed, may_run_tests, runner_of
from planbound.plan.model import (
    Command,
    ExitCodeIs,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
)
from planbound.plan.render import expectation_text
from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import shell_contracts

_SILENT = frozenset(
    "ava tap jasmine playwright cypress karma rspec phpunit pest ctest bats "
    "prove behave busted".split()
)
"""Runners whose tests cannot be named."""


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
        else:
            yield from _unnamed(case.command, script)
        yield from _contradictions(case.command)


def _unnamed(command: Command, script: Script) -> Iterator[Finding]:
    """Yield what asks for the names of tests that the runner does not tell."""
    runners = [call for call in script.calls if runner_of(call) is not None]
    silent = [call.program for call in runners if call.program in _SILENT]
    followed = any(is_followed(script.text, call) for call in runners if not call.nested)
    for item in command.expectations:
        if not isinstance(item.value, MaximumFailures | NoNewFailures):
            continue
        shown = expectation_text(item.value)
        if silent:
            message = f"`{shown}` goes by the names of tests, which `{silent[0]}` does not report"
            hint = (
                "tests are named by pytest, `python -m unittest`, `node --test`, jest, vitest,"
                " mocha, cargo and go"
            )
            yield Finding(item.span, message, hint)
        elif len(runners) > 1 or followed:
            message = f"`{shown}` goes by one report, but more follows the tests"
            yield Finding(item.span, message, "call the test runner once, as the last command")


def _uncounted(command: Command) -> Iterator[Finding]:
    for item in command.expectations:
        if (isinstance(item.value, MinimumTests) and item.value.minimum) or isinstance(
            item.value, MaximumFailures | NoNewFailures
        ):
            message = f"`{expectation_text(item.value)}` counts tests, but the command runs none"
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
