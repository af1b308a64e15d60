"""Pieces of commands in messages."""

from __future__ import annotations

from planbound.source.visible import visible

_WIDTH = 50


def shortened(text: str) -> str:
    """Return a piece of a command as one short line that can stand in backticks."""
    line = visible(" ".join(text.split())).replace("`", "'")
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1].rstrip()}…"
