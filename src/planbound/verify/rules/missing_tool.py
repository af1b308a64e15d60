"""A contract calls a program that is not installed.

## What it does
Reports each program that a contract needs and that is not on the PATH of contracts: what
`[contracts] path` names, the project's own environment, and the system's folders. Programs that
the contract installs or looks for itself, that `npx`, `uv run` and the like bring along, or that
this step or one before it installs or writes, are not reported: a task or contract that says
`uv sync` or `npm install` brings what the project declares, `pip install ruff` brings `ruff`, and
"add `ruff` to the dev dependencies" does, too.

## Why it matters
The contract would end as `unrunnable`, and nothing that the agent does in the workspace makes it
pass. So it cannot be approved, except with `--missing-tools`.

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
from planbound.verify.provided import Providers, place_of
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import plain_contracts


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each contract and program."""
    missing = subject.facts.missing_tools
    if not missing:
        return
    providers = Providers(subject)
    for case in plain_contracts(subject):
        place = place_of(subject, case)
        for tool in case.script.tools:
            if tool.name in missing and not providers.provides(tool.name, place):
                message = f"there is no program `{visible(tool.name)}` on PATH"
                other = subject.facts.elsewhere.get(tool.name)
                hint = "install it, or check the spelling"
                if other is not None:
                    hint = (
                        f"contracts have a PATH of their own; yours has `{visible(other)}`:"
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
