"""A contract only looks whether something is defined.

## What it does
Reports a contract that does nothing but look for a definition in source code: `grep -q 'def total'
src/invoice.py`, `grep -rn "class Parser" src`, with or without `test -f`. Silent where another
command runs something, where a definition must *not* be there, and for files that are no code.

## Why it matters
A function of the right name that does nothing passes, and so does a comment that speaks of it. The
step would be proved, and nobody would have called what it made.

## Example
```shell
grep -q 'def total' src/invoice.py
```

## Instead
```shell
python3 -c 'from invoice import total; assert total([1, 2]) == 3'
```
"""

from __future__ import annotations

from collections.abc import Iterable

from planbound.plan.command.grep import grep_files, grep_patterns, is_grep
from planbound.plan.command.tree import Call
from planbound.plan.command.word import words
from planbound.source import Finding, Severity
from planbound.source.pattern import lazy_pattern
from planbound.verify.quote import shortened
from planbound.verify.rule import Rule
from planbound.verify.subject import ContractCase, Subject
from planbound.verify.writing import shell_contracts

_BESIDE = words("test [ [[ cd set echo printf true cat wc head tail sort uniq ls find stat : exit")
_SPACES = lazy_pattern(r"(?:\\s|\[\[:space:\]\]|\[ \\t\]| )(?:\\?[+*]|\\?\{\d*,?\d*\\?\})?")
_DEFINITION = lazy_pattern(
    r"(?:^|[\s^(|>])(?:async )?(?:def|class|function|func|fn|fun|struct|interface|trait|enum|impl"
    r"|sub|module|defmodule|defp) +\(?[\w.\[\\$]"
)
_CODE = tuple(
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .go .rs .rb .java .kt .kts .swift .c .h .cc .cpp .hpp .cs"
    " .php .scala .ex .exs .lua .pl .pm .dart .vue .svelte".split()
)
_NO_CODE = tuple(".md .txt .rst .html .htm .css .json .toml .yaml .yml .xml .csv .ini".split())
_HINT = "run what is defined: a test, or a call whose result is compared"


def check(subject: Subject) -> Iterable[Finding]:
    """Yield at most one finding for each contract."""
    for case in shell_contracts(subject):
        if not case.script.broken and (found := _definition(case)) is not None:
            shown = shortened(case.script.text[found.start : found.end])
            message = f"`{shown}` is all that is checked: whether it is defined, not what it does"
            yield Finding(case.command.locate(found.start, found.end), message, _HINT)


def _definition(case: ContractCase) -> Call | None:
    """Return the first call that looks for a definition, where nothing else is done."""
    found = None
    for call in case.script.calls:
        if is_grep(call):
            if call.negated or call.has("-v", "-L", "--invert-match", "--files-without-match"):
                return None
            found = found or (call if _looks_for_definition(call) else None)
            if not _looks_for_definition(call):
                return None
        elif call.program not in _BESIDE:
            return None
    return found


def _looks_for_definition(call: Call) -> bool:
    if not any(
        _DEFINITION.search(_SPACES.sub(" ", word.value or "")) for word in grep_patterns(call)
    ):
        return False
    names = [word.value or "" for word in grep_files(call)]
    if any(name.endswith(_NO_CODE) for name in names):
        return False
    # A folder is searched for what is in it; what comes through a pipe may be anything.
    return any(name.endswith(_CODE) for name in names) or (bool(names) and not call.fed)


RULE = Rule(code="PB641", name="only-a-definition", severity=Severity.WARNING, check=check)
