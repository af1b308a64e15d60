"""Diagnostics for people: place, message, the quoted line with a caret, the cure."""

from __future__ import annotations

from collections.abc import Iterator

from planbound.cli.terminal import Terminal
from planbound.source import Diagnostic, Severity, Source
from planbound.source.excerpt import excerpt
from planbound.source.visible import visible

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def render(source: Source, diagnostic: Diagnostic, terminal: Terminal) -> Iterator[str]:
    """Yield the lines that show one diagnostic."""
    place = f"{diagnostic.path}:{diagnostic.line}:{diagnostic.column}"
    kind = terminal.style(
        f"{diagnostic.severity.value}[{diagnostic.code}]", "bold", _COLOURS[diagnostic.severity]
    )
    yield f"{terminal.style(visible(place), 'bold')}: {kind}: {visible(diagnostic.message)}"
    quoted, carets = excerpt(source, diagnostic)
    yield f"  {quoted}"
    yield f"  {terminal.style(carets, _COLOURS[diagnostic.severity])}"
    if diagnostic.hint:
        yield f"  {terminal.style('hint:', 'cyan')} {visible(diagnostic.hint)}"


def summary(errors: int, warnings: int) -> str:
    """Return the counts in words."""
    return f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
