"""A contract passes whatever the agent does.

## What it does
Reports commands that cannot end with a code other than 0: `true`, `... || true`,
`... || echo failed`, a pipe into `tee` or `tail` without `pipefail`, an `if` whose branches only
print, a job in the background, nothing but `echo`, a comparison of constants. Where an expectation
looks at the output, or demands another code, the command is fine. Expectations that always hold
(`stdout contains ""`, `tests >= 0`) are reported too.

## Why it matters
A contract that cannot fail proves nothing, but looks as if it did.

## Example
```shell
pytest -q | tee report.txt
```

## Instead
```shell
set -o pipefail
pytest -q | tee report.txt
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.command.status import Reason, Unfailing, why_unfailing
from planbound.source import Finding, Severity
from planbound.verify.expectation import demands_failure, demands_nothing, demands_output
from planbound.verify.quote import shortened
from planbound.verify.rule import Rule
from planbound.verify.subject import ContractCase, Subject
from planbound.verify.writing import shell_contracts

_SO = "so the contract cannot fail"
_CURE = "write a command that fails as long as the work is not done"
_MESSAGES = {
    Reason.EMPTY: ("there is no command, {so}", _CURE),
    Reason.NOTHING: (
        "`{shown}` at the end always succeeds, {so}",
        "drop it: the command before it decides",
    ),
    Reason.FALLBACK: (
        "`|| {shown}` hides every failure, {so}",
        "drop it: a contract is meant to fail",
    ),
    Reason.PIPE: (
        "the pipe ends in `{shown}`, which always succeeds, {so}",
        "write `set -o pipefail` in the first line, or drop the pipe",
    ),
    Reason.BRANCHES: (
        "no branch at the end fails, {so}",
        "use the condition itself as the command, or `exit 1` in a branch",
    ),
    Reason.BACKGROUND: (
        "`{shown} &` is in the background and not waited for, {so}",
        "drop the `&`, or let a command follow that checks what it does",
    ),
    Reason.CONSTANT: ("`{shown}` compares constants, {so}", _CURE),
    Reason.PRINTS: ("`{shown}` always succeeds, {so}", _CURE),
}


def check(subject: Subject) -> Iterable[Finding]:
    """Yield a finding for each command that cannot fail and each expectation that always holds."""
    for case in shell_contracts(subject):
        unfailing = cannot_fail(case)
        if unfailing is not None:
            yield _finding(case, unfailing)
    for case in subject.contracts:
        for item in case.command.expectations:
            if demands_nothing(item.value):
                written = subject.plan.source.slice(item.span)
                message = f"`{shortened(written)}` always holds"
                yield Finding(item.span, message, "say what must be there, or drop it")


def cannot_fail(case: ContractCase) -> Unfailing | None:
    """Return why a contract cannot fail; None where it can."""
    unfailing = why_unfailing(case.script)
    if unfailing is None:
        return None
    if demands_output(case.command) or demands_failure(case.command):
        # The output decides; but nothing comes out of nothing.
        nothing = unfailing.reason is Reason.NOTHING and len(case.script.calls) == 1
        return unfailing if nothing or unfailing.reason is Reason.EMPTY else None
    return unfailing


def _finding(case: ContractCase, unfailing: Unfailing) -> Finding:
    message, hint = _MESSAGES[unfailing.reason]
    if unfailing.reason is Reason.NOTHING and len(case.script.calls) == 1:
        message, hint = _MESSAGES[Reason.PRINTS]
    shown = shortened(case.script.text[unfailing.start : unfailing.end])
    place = case.command.locate(unfailing.start, unfailing.end)
    return Finding(place, message.format(shown=shown, so=_SO), hint)


RULE = Rule(code="PB607", name="cannot-fail", severity=Severity.ERROR, check=check)
