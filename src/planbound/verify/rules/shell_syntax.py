"""A contract is not valid shell.

## What it does
Reports a command that bash cannot parse, with bash's own words.

## Why it matters
The contract would end as `unrunnable` after the agent has been paid: nothing that the agent does
can make it pass.

## Example
```shell
test "$(grep -c total src/invoice.py -ge 1
```

## Instead
```shell
test "$(grep -c total src/invoice.py)" -ge 1
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.model import Command
from planbound.source import Finding, Severity, Span
from planbound.source.visible import visible
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import plain_contracts


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each command that the shell cannot parse."""
    for case in plain_contracts(subject):
        fault = subject.facts.syntax.get(case.command.text)
        if fault is not None:
            message = f"the shell cannot read this command: {visible(fault.message)}"
            hint = "check that quotes, brackets, `if` and `for` are closed"
            yield Finding(_line(case.command, fault.line), message, hint)


def _line(command: Command, number: int) -> Span:
    """Return the place of a line, counted from 0, without the blanks around it."""
    lines = command.text.split("\n")
    number = min(number, len(lines) - 1)
    line = lines[number]
    start = sum(len(before) + 1 for before in lines[:number])
    blank = len(line) - len(line.lstrip())
    return command.locate(start + blank, start + max(blank, len(line.rstrip())))


RULE = Rule(code="PB601", name="shell-syntax", severity=Severity.ERROR, check=check)
