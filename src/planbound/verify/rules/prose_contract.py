"""A contract is a sentence instead of a command.

## What it does
Reports a contract with a line of prose where a shell command is expected.

## Why it matters
The harness runs contracts. A sentence cannot be run, so the step could never be proved.

## Example
```shell
All tests pass and the code is clean
```

## Instead
```shell
pytest -q && ruff check src
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.quote import shortened
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import Writing, written_contracts


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each contract, at the first sentence."""
    for written in written_contracts(subject):
        if written.writing is not Writing.PROSE:
            continue
        command = written.case.command
        start, end = written.prose
        shown = shortened(command.text[start:end])
        message = f"found the sentence `{shown}`; expected a shell command"
        hint = (
            "write the command that shows it, such as `pytest -q`; "
            'what only a person can judge is `**contract:** attest "..."`'
        )
        yield Finding(command.locate(start, end), message, hint)


RULE = Rule(code="PB603", name="prose-contract", severity=Severity.ERROR, check=check)
