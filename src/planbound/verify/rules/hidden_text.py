"""The file holds characters that nobody can see.

## What it does
Reports control characters, zero-width and bidirectional characters and tag characters outside
commands, up to ten places. Joiners between letters or emoji are part of their script.

## Why it matters
The approver approves what is on the screen, the agent gets what is in the file. Invisible text
is how instructions are smuggled past a person.

## Example
`**task:** Round once<U+202E>` where the last character turns the direction of the text.

## Instead
`**task:** Round once`
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

from planbound.plan.model import Command
from planbound.source import Finding, Severity, Span
from planbound.source.text import BOM
from planbound.source.visible import INVISIBLE
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject

MAX_FINDINGS = 10
_JOINERS = "\u200c\u200d"


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each run of hidden characters."""
    text = subject.plan.source.text
    if "\0" in text and "unreadable-file" in subject.faults:
        return  # it is no text at all
    for span in islice(_runs(text, _commands(subject)), MAX_FINDINGS):
        first = text[span.start]
        count = span.end - span.start
        unnamed = "CONTROL CHARACTER" if unicodedata.category(first) == "Cc" else "UNASSIGNED"
        what = f"U+{ord(first):04X} {unicodedata.name(first, unnamed)}"
        message = f"found the hidden character {what}"
        if count > 1:
            message = f"found {count} hidden characters, the first is {what}"
        yield Finding(span, message, "delete what cannot be seen")


def _commands(subject: Subject) -> list[Span]:
    """Return where the commands stand, in order."""
    plan = subject.plan
    contracts = [owner.contract for owner in (*plan.preconditions, *plan.postconditions)]
    contracts += [step.contract for step in plan.steps]
    spans = [contract.span for contract in contracts if isinstance(contract, Command)]
    return sorted(spans, key=lambda span: span.start)


def _runs(text: str, commands: list[Span]) -> Iterator[Span]:
    """Yield hidden characters, those that stand next to each other as one."""
    starts = [span.start for span in commands]
    run: Span | None = None
    for match in INVISIBLE.finditer(text):
        offset = match.start()
        if _may_stay(text, offset):
            continue
        place = bisect_right(starts, offset) - 1
        if place >= 0 and offset < commands[place].end:
            continue
        if run is not None and run.end == offset:
            run = Span(run.start, offset + 1)
            continue
        if run is not None:
            yield run
        run = Span(offset, offset + 1)
    if run is not None:
        yield run


def _may_stay(text: str, offset: int) -> bool:
    character = text[offset]
    if character == "\r" or "\ud800" <= character <= "\udfff":
        return True
    if character == BOM:
        return offset == 0
    if character in _JOINERS and 0 < offset < len(text) - 1:
        return _is_joined(text[offset - 1]) and _is_joined(text[offset + 1])
    return False


def _is_joined(character: str) -> bool:
    """Letters with their marks, emoji with their shades: what joiners join."""
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "So" or "\U0001f3fb" <= character <= "\U0001f3ff"


RULE = Rule(code="PB125", name="hidden-text", severity=Severity.WARNING, check=check)
