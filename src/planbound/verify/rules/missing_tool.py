"""A contract calls a program that is not installed.

## What it does
Reports each program that a contract needs and that is not on the PATH of contracts: what
`[contracts] path` names, the project's own environment, and the system's folders. Programs that
the contract installs or looks for itself, or that `npx`, `uv run` and the like bring along, are
not reported.

## Why it matters
The contract would end as `unrunnable`, and nothing that the agent does in the workspace makes it
pass.

## Example
```shell
pytset tests/billing
```

## Instead
```shell
pytest tests/billing
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.source.visible import visible
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import plain_contracts


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each contract and program."""
    missing = subject.facts.missing_tools
    if not missing:
        return
    for case in plain_contracts(subject):
        for tool in case.script.tools:
            if tool.name in missing:
                message = f"there is no program `{visible(tool.name)}` on PATH"
                place = subject.facts.elsewhere.get(tool.name)
                hint = "install it, or check the spelling"
                if place is not None:
                    hint = (
                        f"contracts have a PATH of their own; yours has `{visible(place)}`:"
                        " name its folder in `[contracts] path`"
                    )
                yield Finding(case.command.locate(tool.start, tool.end), message, hint)


RULE = Rule(
    code="PB602",
    name="missing-tool",
    severity=Severity.WARNING,
    strict=Severity.ERROR,
    check=check,
)
