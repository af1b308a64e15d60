r"""A backslash in a pattern of plain `grep` makes an operator, where a character is meant.

## What it does
Looks at the patterns of `grep` and `git grep` without `-E`, `-F` and `-P`. There `\(` begins a
group, `\{` a repetition, `\+` repeats what stands before it, and `\|` begins an alternative: the
other way round than with `-E`. It reports a group that does not end (then `grep` fails whatever the
file holds), a group right behind a name, such as `main\(\)`, a `\{` that is no repetition, a `\+`
with nothing to repeat, and an empty alternative, which every line matches. Groups that are used as
groups, `\(a\|b\)`, `\(ab\)*`, `\(.\)\1`, are fine.

## Why it matters
`grep -q 'def total\(' x.py` can never pass: it ends with `Unmatched ( or \(`. And
`grep -q 'main\(\)' x.py` passes without a parenthesis in the file.

## Example
```shell
grep -q 'def total\(' src/invoice.py && make test
```

## Instead
```shell
grep -q 'def total(' src/invoice.py && make test
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from planbound.plan.command.grep import grep_patterns, is_basic
from planbound.source import Finding, Severity
from planbound.source.pattern import lazy_pattern
from planbound.verify.quote import shortened
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import shell_contracts

_PART = lazy_pattern(r"\\.|\[\^?\]?(?:\[[:.=].*?[:.=]\]|[^\]])*\]|.", 16)
_INTERVAL = lazy_pattern(r"\\\{\d*(?:,\d*)?\\\}")
_REPEATS = ("*", "\\{", "\\+", "\\?")
_BEGINS = ("", "^", "\\(", "\\|")
_PLAIN = "for the character itself write it without the backslash, or use `grep -F`"
_EXTENDED = "for the operator use `grep -E`, without the backslash"
_HINT = f"{_PLAIN}; {_EXTENDED}"


class Fault(NamedTuple):
    """What is wrong with a pattern."""

    part: str
    what: str


def check(subject: Subject) -> Iterable[Finding]:
    """Yield at most one finding for each pattern."""
    for case in shell_contracts(subject):
        if case.script.broken:
            continue
        for call in case.script.calls:
            if not is_basic(call):
                continue
            for word in grep_patterns(call):
                fault = next(faults_of(word.value or ""), None)
                if fault is not None:
                    message = (
                        f"in plain `grep`, `{fault.part}` in `{shortened(word.value or '')}`"
                        f" {fault.what}"
                    )
                    yield Finding(case.command.locate(word.start, word.end), message, _HINT)


def faults_of(pattern: str) -> Iterator[Fault]:
    """Yield what a basic regular expression says that its author hardly means."""
    parts = _PART.findall(pattern)
    opened: list[int] = []
    refers = any(len(part) == 2 and part[0] == "\\" and part[1] in "123456789" for part in parts)
    for index, part in enumerate(parts):
        before = parts[index - 1] if index else ""
        after = parts[index + 1] if index + 1 < len(parts) else ""
        if part == "\\(":
            opened.append(index)
        elif part == "\\)":
            if not opened:
                yield Fault(part, "ends a group that does not begin, so that `grep` fails")
                continue
            begin = opened.pop()
            inside = parts[begin + 1 : index]
            is_used = refers or "\\|" in inside or after in _REPEATS
            if not is_used and begin and (parts[begin - 1].isalnum() or parts[begin - 1] == "_"):
                yield Fault("\\(", "begins a group, so that no parenthesis is looked for")
        elif part == "\\{" and not _is_interval(parts, index):
            yield Fault(part, "begins a repetition that is none, so that `grep` fails")
        elif part == "\\+" and (before in (*_BEGINS, "\\+") or (before, after) == (" ", " ")):
            yield Fault(part, "repeats what stands before it, so that no `+` is looked for")
        elif part == "\\|" and (before in _BEGINS or after in {"", "$", "\\)"}):
            yield Fault(part, "begins an alternative, and an empty one is in every line")
    if opened:
        yield Fault("\\(", "begins a group that does not end, so that `grep` fails")


def _is_interval(parts: list[str], index: int) -> bool:
    return index > 0 and _INTERVAL.match("".join(parts[index : index + 20])) is not None


RULE = Rule(code="PB640", name="escaped-in-grep", severity=Severity.ERROR, check=check)
