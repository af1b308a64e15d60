"""A command holds characters that look like others, or like nothing.

## What it does
Reports control characters, zero-width and bidirectional characters and variation selectors in
commands and expectations, and in commands no-break spaces and the quotes and dashes that chat
programs and word processors make of `"`, `'` and `-`. At most five for each contract.

## Why it matters
The approver reads one command and the shell gets another. A no-break space is part of a word, and
`“` quotes nothing.

## Example
```shell
grep -q “total amount” src/invoice.py
```

## Instead
```shell
grep -q "total amount" src/invoice.py
```
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice

from planbound.plan.command.tree import Script
from planbound.source import Finding, Severity, Span
from planbound.source.visible import INVISIBLE
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import Writing, Written, written_contracts

MAX_FINDINGS = 5

# As text: `re` compiles and keeps them when the first plan has a character that is not ASCII.
_HIDDEN = rf"{INVISIBLE.pattern}|[\ufe00-\ufe0f]"
_BLANK = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_TYPOGRAPHIC = "[‘’‚‛“”„‟«»–—]"
_ANY = f"{_HIDDEN}|{_BLANK}|{_TYPOGRAPHIC}"
_DASHES = "–—"
_DOUBLE = "“”„‟«»"
# What may be skipped as a whole: escaped characters, quoted text, comments.
_SKIPPED = r"(?s)\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|(?<!\S)#[^\n]*"


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each character, up to five for a contract."""
    source = subject.plan.source
    if source.text.isascii() and not INVISIBLE.search(source.text):
        return
    for written in written_contracts(subject):
        yield from islice(_contract(written, source.text), MAX_FINDINGS)


def _contract(written: Written, source: str) -> Iterator[Finding]:
    command = written.case.command
    shell = written.writing in {Writing.SHELL, Writing.PREFIXED}
    if re.search(_ANY, command.text):
        found = dict(_hidden(command.text))
        if shell:
            found.update(_lookalikes(written.case.script))
        for offset in sorted(found):
            yield Finding(command.locate(offset, offset + 1), *found[offset])
    for item in command.expectations:
        text = source[item.span.start : item.span.end]
        for offset, (message, hint) in _hidden(text):
            start = item.span.start + offset
            yield Finding(Span(start, start + 1), message, hint)


def _hidden(text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    for match in re.finditer(_HIDDEN, text):
        yield match.start(), (f"found the invisible character {_name(match[0])}", "delete it")


def _lookalikes(script: Script) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield blanks that are none, and quotes and dashes that the shell does not know."""
    text = script.text
    for match in re.finditer(_BLANK, text):
        yield match.start(), (f"found {_name(match[0])}; expected a plain blank", "type it anew")
    plain = re.sub(_SKIPPED, lambda skipped: "\0" * len(skipped[0]), text)
    for match in re.finditer(_TYPOGRAPHIC, plain):
        offset = match.start()
        if any(start <= offset < end for start, end in script.heredocs):
            continue
        before, after = text[:offset][-1:], text[offset + 1 :][:1]
        if match[0] in _DASHES:
            if (not before or before.isspace()) and (after.isalpha() or after in _DASHES):
                yield offset, (f"found {_name(match[0])}; expected `-`", "type it anew")
        elif _is_edge(before) or _is_edge(after):
            quote = '"' if match[0] in _DOUBLE else "'"
            yield offset, (f"found {_name(match[0])}; expected `{quote}`", "type it anew")


def _is_edge(character: str) -> bool:
    return not character or character.isspace() or character in "=();&|"


def _name(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"0x{code - 0xDC00:02X}, a byte that is not UTF-8"
    unnamed = {"Cc": "CONTROL CHARACTER", "Cs": "LONE SURROGATE"}
    name = unicodedata.name(character, unnamed.get(unicodedata.category(character), "UNASSIGNED"))
    return f"U+{code:04X} {name}"


RULE = Rule(code="PB611", name="invisible-character", severity=Severity.ERROR, check=check)
