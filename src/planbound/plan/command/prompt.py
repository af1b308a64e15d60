"""What people and models put in front of a command that is no part of it.

`bash: pytest`, `$ pytest`, `> pytest`: a label, or the prompt of a console.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from planbound.plan.command.tree import Script
from planbound.source.pattern import lazy_pattern

_LABEL = lazy_pattern(
    r"\s*(?:bash|sh|shell|zsh|console|command|cmd|run)\s*:[ \t]+(?=\S)",
    re.IGNORECASE,
)
_DOLLAR = lazy_pattern(r"^[ \t]*\$[ \t]+(?=[^\s])", re.MULTILINE)
# `> out.txt` makes an empty file.
_ANGLE = lazy_pattern(r"\s*>[ \t]+(?=[A-Za-z][\w-]*(?:[ \t]|$))")


class Prefix(NamedTuple):
    """A label or prompt in front of a command."""

    text: str
    start: int
    end: int
    """Where the command starts."""


def find_prefixes(script: Script) -> tuple[Prefix, ...]:
    """Return what stands in front of the commands of a script."""
    text = script.text
    if "$" not in text and ":" not in text and ">" not in text:
        return ()
    matches = [match for pattern in (_LABEL, _ANGLE) if (match := pattern.match(text))]
    matches += [match for match in _DOLLAR.finditer(text) if not _is_quoted(script, match.end())]
    return tuple(
        Prefix(text=match.group().strip(), start=_visible(match), end=match.end())
        for match in matches
    )


def without_prefixes(script: Script, prefixes: tuple[Prefix, ...]) -> str:
    """Return the text with blanks for the prefixes, so that every place stays the same."""
    text = script.text
    for prefix in prefixes:
        blank = " " * (prefix.end - prefix.start)
        text = f"{text[: prefix.start]}{blank}{text[prefix.end :]}"
    return text


def _visible(match: re.Match[str]) -> int:
    return match.end() - len(match.group().lstrip())


def _is_quoted(script: Script, offset: int) -> bool:
    """Say whether an offset is inside a here-document or a word of several lines."""
    if any(start <= offset < end for start, end in script.heredocs):
        return True
    return any(
        word.start < offset - 1 < word.end and "\n" in word.text[: offset - word.start]
        for call in script.calls
        for word in call.arguments
    )
