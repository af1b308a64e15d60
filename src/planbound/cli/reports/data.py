"""Diagnostics as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planbound.source import Diagnostic


def as_data(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Return diagnostics as plain data."""
    return [
        {
            "code": item.code,
            "severity": item.severity.value,
            "path": item.path,
            "line": item.line,
            "column": item.column,
            "end_line": item.end_line,
            "end_column": item.end_column,
            "message": item.message,
            "hint": item.hint,
        }
        for item in diagnostics
    ]
