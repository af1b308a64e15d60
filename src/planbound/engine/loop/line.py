"""A text of an agent as one line in a sentence of the harness."""

from __future__ import annotations

from planbound.source.visible import visible


def line_of(text: str, most: int) -> str:
    """Return a text on one line, cut, with nothing in it that a terminal would hide or obey."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def command_of(text: str, most: int) -> str:
    """Return a command on one line; of one that has several the first, which says that it does.

    Lines that are joined by blanks would be another command, which nobody ran.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    first = line_of(lines[0], most) if lines else ""
    return f"{first} …" if len(lines) > 1 and not first.endswith("…") else first
