"""What two texts have not in common, as a page shows it."""

from __future__ import annotations

import difflib

from planbound.receipts.html import Html, element
from planbound.receipts.pieces import diff

_LINES = 3_000
_SHOWN = 400


def text_difference(before: str, after: str, names: tuple[str, str]) -> Html:
    """Return the difference between two texts, as far as a page has room for it."""
    old, new = before.splitlines(), after.splitlines()
    if old == new:
        return element("p", f"{names[0]} and {names[1]} are the same.", class_="dim")
    if len(old) > _LINES or len(new) > _LINES:
        return element("p", f"More than {_LINES:,} lines: too much to compare here.", class_="dim")
    lines = list(difflib.unified_diff(old, new, *names, lineterm="", n=2))
    left_out = len(lines) - _SHOWN
    if left_out > 0:
        lines = [*lines[:_SHOWN], f"[... {left_out:,} more lines ...]"]
    return diff("\n".join(lines))
