"""A text of an agent as one line in a sentence of the harness."""

from __future__ import annotations

from planbound.source.visible import visible


def line_of(text: str, most: int) -> str:
    """Return a text on one line, cut, with nothing in it that a terminal would hide or obey."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
