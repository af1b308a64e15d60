"""CRLF and CR to LF, no byte order mark, a line end at the end of the file."""

from __future__ import annotations

from planbound.plan.edit import Edit
from planbound.plan.model import Plan
from planbound.source import Span
from planbound.source.pattern import lazy_pattern

_RETURN = lazy_pattern(r"\r\n?")


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that make the file plain UTF-8 text with LF line ends."""
    text = plan.source.text
    edits = [Edit(Span(*match.span()), "\n") for match in _RETURN.finditer(text)]
    if text.startswith("\ufeff"):
        edits.append(Edit(Span(0, 1), ""))
    if text and not text.endswith(("\n", "\r")):
        edits.append(Edit(Span(len(text), len(text)), "\n"))
    return edits
