"""What changed in a file, for people."""

from __future__ import annotations

import difflib

_MAX_BYTES = 200_000
_MAX_LINES = 60


def difference(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return a unified difference; a sentence where the files are not text or too large."""
    old, new = _lines(before), _lines(after)
    if old is None or new is None:
        return "not text, or too large to show"
    lines = list(
        difflib.unified_diff(old, new, f"frozen/{path}", f"workspace/{path}", lineterm="", n=2)
    )
    if len(lines) > _MAX_LINES:
        lines = [*lines[:_MAX_LINES], f"... {len(lines) - _MAX_LINES} more lines"]
    return "\n".join(lines)


def _lines(content: bytes | None) -> list[str] | None:
    if content is None:
        return []
    if len(content) > _MAX_BYTES or b"\0" in content:
        return None
    return content.decode("utf-8", "replace").splitlines()
