"""What is wrong in a file, for CI services that show it next to the line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from planbound import __version__
from planbound.source import Diagnostic, Severity, visible, visible_lines

# -- diagnostics as workflow commands, which GitHub shows next to the line -----------------------


def render_annotation(diagnostic: Diagnostic) -> str:
    """Return the workflow command of one diagnostic."""
    message = visible_lines(diagnostic.message)
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
    return f"::{diagnostic.severity.value} {properties}::{_annotation_text(message)}"


def _annotation_text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _annotation_text(text).replace(":", "%3A").replace(",", "%2C")


# -- diagnostics as SARIF 2.1.0, for code scanning -----------------------------------------------


class SarifRule(NamedTuple):
    """What a code of a diagnostic means."""

    code: str
    name: str
    page: str
    """Its first line says it in short."""
    severity: Severity


def as_sarif(diagnostics: Iterable[Diagnostic], rules: Sequence[SarifRule]) -> dict[str, Any]:
    """Return one run of the program as a SARIF log."""
    places = {rule.code: place for place, rule in enumerate(rules)}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "planbound",
                        "version": __version__,
                        "rules": [
                            {
                                "id": rule.code,
                                "name": rule.name,
                                "shortDescription": {"text": rule.page.split("\n")[0]},
                                "help": {"text": rule.page},
                                "defaultConfiguration": {"level": rule.severity.value},
                            }
                            for rule in rules
                        ],
                    }
                },
                # Columns count characters, not UTF-16 units.
                "columnKind": "unicodeCodePoints",
                "results": [_result(item, places[item.code]) for item in diagnostics],
            }
        ],
    }


def _result(item: Diagnostic, place: int) -> dict[str, Any]:
    from urllib.parse import quote  # noqa: PLC0415 - only for SARIF

    text = item.message if item.hint is None else f"{item.message}\nhint: {item.hint}"
    return {
        "ruleId": item.code,
        "ruleIndex": place,
        "level": item.severity.value,
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(item.path)},
                    "region": {
                        "startLine": item.line,
                        "startColumn": item.column,
                        "endLine": item.end_line,
                        "endColumn": item.end_column,
                    },
                }
            }
        ],
    }
