"""Diagnostics as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from planbound import __version__
from planbound.source import Diagnostic
from planbound.verify.rules import PAGES, RULES


def as_data(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return one run of the verifier as a SARIF log."""
    places = {rule.code: place for place, rule in enumerate(RULES)}
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
                                "shortDescription": {"text": PAGES[rule.code].split("\n")[0]},
                                "help": {"text": PAGES[rule.code].strip()},
                                "defaultConfiguration": {"level": rule.severity.value},
                            }
                            for rule in RULES
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
