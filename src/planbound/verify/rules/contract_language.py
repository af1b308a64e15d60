"""A contract is written in another language than shell.

## What it does
Reports a command in a fence with the tag of another language: `python`, `js`, `yaml`, ...

## Why it matters
The harness hands every contract to the shell, which would read the program as commands.

## Example
````markdown
```python
assert total() == 3
```
````

## Instead
````markdown
```shell
python - <<'EOF'
from billing import total
assert total() == 3
EOF
```
````
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.source import Finding, Severity
from planbound.verify.rule import Rule
from planbound.verify.rules.contract_not_fenced import opening
from planbound.verify.subject import Subject
from planbound.verify.writing import Writing, written_contracts

_INTERPRETERS = {
    "python": "python -",
    "py": "python -",
    "python3": "python -",
    "js": "node -",
    "javascript": "node -",
    "mjs": "node --input-type=module -",
    "ruby": "ruby -",
    "rb": "ruby -",
    "perl": "perl -",
    "php": "php",
    "lua": "lua -",
    "sql": "sqlite3 DATABASE",
    "fish": "fish",
    "powershell": "pwsh -Command -",
    "pwsh": "pwsh -Command -",
}


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each fence with another tag."""
    for written in written_contracts(subject):
        if written.writing is not Writing.FOREIGN:
            continue
        command = written.case.command
        message = f"the fence of the command has the tag `{command.language}`; expected `shell`"
        program = _INTERPRETERS.get(command.language)
        hint = "contracts are shell: write a command and tag its fence `shell`"
        if program:
            hint = f"contracts are shell: start it with `{program} <<'EOF'` and end it with `EOF`"
        yield Finding(opening(subject.plan.source, command), message, hint)


RULE = Rule(code="PB614", name="contract-language", severity=Severity.ERROR, check=check)
