"""The exit code of the deciding command does not say what the contract is about.

## What it does
Reports a contract that is decided by a command whose exit code is the same for good and bad:
`grep -c`, `wc`, `find`, `git status`, `git diff` without `--exit-code`, `jq` without `-e`, `curl`
without `--fail`, lists such as `docker ps` and `pip list`. Silent where an expectation looks at
the output.

## Why it matters
The contract passes as soon as the command runs. `git diff` succeeds with and without changes,
`curl` succeeds when the server answers 500.

## Example
```shell
curl -s http://localhost:8000/health
```

## Instead
```shell
curl -sf http://localhost:8000/health
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planbound.plan.command.status import ALWAYS_SUCCEED, deciding_calls
from planbound.plan.command.tree import Call
from planbound.plan.command.word import words
from planbound.source import Finding, Severity
from planbound.verify.expectation import demands_failure, demands_output
from planbound.verify.quote import shortened
from planbound.verify.rule import Rule
from planbound.verify.rules.cannot_fail import cannot_fail
from planbound.verify.subject import ContractCase, Subject
from planbound.verify.writing import shell_contracts

_COMPARE = 'compare what it prints: `test "$(...)" = ...`, or add `stdout contains "..."`'
_PREPARES = ALWAYS_SUCCEED | words("cd mkdir touch rm cp mv chmod source . pushd popd")
_DOCKER_LISTS = words("ps images stats info version ls")
_GIT_LISTS = words("branch log stash tag remote")
_VALID_JSON = words(". empty type")


def check(subject: Subject) -> Iterable[Finding]:
    """Yield at most one finding for each contract."""
    for case in shell_contracts(subject):
        if not case.script.broken and any(call.program in _SILENT for call in case.script.calls):
            yield from _examine(case)


def _examine(case: ContractCase) -> Iterable[Finding]:
    if demands_output(case.command) or demands_failure(case.command) or cannot_fail(case):
        return
    calls = deciding_calls(case.script)
    silent = next((call for call in reversed(calls) if _hint(call)), None)
    if silent is None or not (hint := _hint(silent)):
        return
    others = (call for call in calls if call.word and not _hint(call))
    # Where another command decides this one only prints; but who ends with `curl` means it.
    if any(call.program not in _PREPARES for call in others) and not _is_last_curl(calls):
        return
    shown = shortened(case.script.text[silent.start : silent.end])
    message = f"the exit code of `{shown}` does not say what it found"
    yield Finding(case.command.locate(silent.start, silent.end), message, hint)


def _is_last_curl(calls: list[Call]) -> bool:
    return calls[-1].program == "curl" and _hint(calls[-1]) is not None


def _hint(call: Call) -> str | None:
    """Return how to do better, where a call's exit code says nothing."""
    judge = _SILENT.get(call.program)
    return judge(call) if judge and not call.negated and not call.optional else None


def _subcommands(call: Call) -> list[str]:
    return [word.value or "" for word in call.operands(words("-C -c"))]


def _counts(call: Call) -> str | None:
    return _COMPARE if call.has("-c", "--count") else None


def _prints(_call: Call) -> str | None:
    return _COMPARE


def _finds(call: Call) -> str | None:
    values = call.values()
    if "-exec" in values and "+" in values:
        return None  # fails where the command does
    return "let `| grep -q .` follow, which fails where nothing is found"


def _git(call: Call) -> str | None:
    given = _subcommands(call)
    if given[:1] == ["diff"] and not call.has("--exit-code", "--quiet", "--check"):
        return "use `git diff --exit-code`, which fails where there are changes"
    if given[:1] == ["status"]:
        return 'use `test -z "$(git status --porcelain)"`, which fails where there are changes'
    return _COMPARE if len(given) == 1 and given[0] in _GIT_LISTS else None


def _docker(call: Call) -> str | None:
    given = _subcommands(call)
    groups = {"compose", "container", "image", "volume", "network"}
    listed = given[1:2] if given[:1] and given[0] in groups else given[:1]
    return _COMPARE if listed and listed[0] in _DOCKER_LISTS else None


def _pip(call: Call) -> str | None:
    return _COMPARE if _subcommands(call)[:1] in (["list"], ["freeze"]) else None


def _jq(call: Call) -> str | None:
    if call.has("-e", "--exit-status"):
        return None
    program = next((word.value or "" for word in call.operands()), ".")
    if program in _VALID_JSON or "error" in program:
        return None  # fails where the input is not valid
    return "use `jq -e`, which fails where the result is `false` or `null`"


def _curl(call: Call) -> str | None:
    if call.has("-f", "--fail", "--fail-with-body", "-V", "--version", "-h", "--help"):
        return None
    return "use `curl --fail`, which fails where the server answers with an error"


_SILENT: dict[str, Callable[[Call], str | None]] = {
    "grep": _counts,
    "egrep": _counts,
    "fgrep": _counts,
    "rg": _counts,
    "wc": _prints,
    "du": _prints,
    "df": _prints,
    "ps": _prints,
    "find": _finds,
    "git": _git,
    "docker": _docker,
    "docker-compose": _docker,
    "pip": _pip,
    "pip3": _pip,
    "jq": _jq,
    "curl": _curl,
}

RULE = Rule(code="PB608", name="exit-code-says-nothing", severity=Severity.WARNING, check=check)
