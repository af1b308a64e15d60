"""A command stands outside a `shell` fence.

## What it does
Reports a command that is inline code, indented code or bare text, and a fence whose tag is empty
or another word for shell, such as `console` or `text`.

## Why it matters
Only in a fence is it clear where a command starts and ends, and that no Markdown changes it.

## Example
```markdown
**contract:** `pytest -q`
```

## Instead
````markdown
**contract:**
```shell
pytest -q
```
````
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.model import Command, Wrapping
from planbound.plan.vocabulary import SHELL_SYNONYMS
from planbound.source import Finding, Severity, Source, Span
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import Writing, written_contracts

_HINT = "run `planbound fmt` to put it into a `shell` fence"


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each command without a proper fence."""
    for written in written_contracts(subject):
        command = written.case.command
        if command.wrapping is not Wrapping.FENCE:
            if written.writing is Writing.PROSE:
                continue  # there is no command to put anywhere
            message = f"the command is {command.wrapping.value}; expected a `shell` fence"
            yield Finding(command.span, message, _HINT)
        elif command.language in SHELL_SYNONYMS:
            tag = f"the tag `{command.language}`" if command.language else "no tag"
            message = f"the fence of the command has {tag}; expected `shell`"
            yield Finding(opening(subject.plan.source, command), message, _HINT)


def opening(source: Source, command: Command) -> Span:
    """Return the line that opens a command's fence."""
    line = source.line_span(source.position(command.span.start)[0] - 1)
    text = source.text[command.span.start : line.end]
    return Span(command.span.start + len(text) - len(text.lstrip()), line.end)


RULE = Rule(code="PB613", name="contract-not-fenced", severity=Severity.WARNING, check=check)
