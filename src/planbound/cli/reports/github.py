"""Diagnostics as workflow commands, which GitHub shows next to the line."""

from __future__ import annotations

from planbound.source import Diagnostic
from planbound.source.visible import visible


def render(diagnostic: Diagnostic) -> str:
    """Return the workflow command of one diagnostic."""
    message = visible(diagnostic.message)
    if diagnostic.hint:
        message += f"\nhint: {visible(diagnostic.hint)}"
    fields = {
        "file": diagnostic.path,
        "line": str(diagnostic.line),
        "endLine": str(diagnostic.end_line),
        "col": str(diagnostic.column),
        "endColumn": str(diagnostic.end_column),
        "title": diagnostic.code,
    }
    properties = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    return f"::{diagnostic.severity.value} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
