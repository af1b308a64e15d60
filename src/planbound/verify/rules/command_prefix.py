"""Something that is no part of the command stands in front of it.

## What it does
Reports a label such as `bash:` or `shell:` and the prompt of a console, `$ ` or `> `, in front
of a command.

## Why it matters
The harness hands the text to the shell as it is: `bash: pytest` calls a program named `bash:`.

## Example
```shell
$ pytest -q
```

## Instead
```shell
pytest -q
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import written_contracts


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each label or prompt."""
    for written in written_contracts(subject):
        for prefix in written.prefixes:
            message = f"found `{prefix.text}` in front of the command; expected only the command"
            place = written.case.command.locate(prefix.start, prefix.start + len(prefix.text))
            yield Finding(place, message, "run `planbound fmt` to remove it")


RULE = Rule(code="PB604", name="command-prefix", severity=Severity.ERROR, check=check)
