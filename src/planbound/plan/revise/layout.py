"""The steps of a plan as blocks of text, and the text between them.

What stands between two steps (blank lines, a note, the heading of a section) keeps its place; the
blocks change theirs. So the same blocks in the same order give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.plan.model import Plan
from planbound.source import Span
from planbound.source.pattern import lazy_pattern
from planbound.source.text import BOM

_BLANK_LINES = lazy_pattern(r"(?:[ \t]*(?:\r\n|\n|\r))*")
_BLANK_LINE_AT_END = lazy_pattern(r"(?:\n|\r(?!\n))[ \t]*(?:\r\n|\n|\r)$")
_BLANK_LINE_AT_FRONT = lazy_pattern(r"(?:\r\n|\n|\r(?!\n))[ \t]*(?:\n|\r)")


class Layout(NamedTuple):
    """The text around the steps: before the first, between them, behind the last."""

    gaps: tuple[str, ...]

    def without(self, place: int) -> Layout:
        """Return the text around the steps when one of them is not there any more."""
        before, behind = self.gaps[place], self.gaps[place + 1]
        is_last = place == len(self.gaps) - 2
        if is_last and place and not before.strip():
            joined = behind
        elif not is_last and not behind.strip():
            joined = before
        else:
            blank = _BLANK_LINES.match(behind)
            joined = before + behind[blank.end() if blank else 0 :]
        return Layout((*self.gaps[:place], joined, *self.gaps[place + 2 :]))

    def widened(self, order: Sequence[int], count: int, newline: str) -> Layout:
        """Return the layout with an empty line wherever a step has got another neighbour.

        `order` holds the old places of the steps, `count` says how many there were.
        A title that is underlined, or a step that ends with HTML, needs one to stay what it is.
        """
        gaps = list(self.gaps)
        for slot, place in enumerate(order):
            if place != (order[slot - 1] + 1 if slot else 0):
                gaps[slot] = _widened(gaps[slot], newline, front=bool(slot), end=True)
        if order[-1] != count - 1:
            gaps[-1] = _widened(gaps[-1], newline, front=True, end=False)
        return Layout(tuple(gaps))

    def fill(self, blocks: Sequence[str]) -> str:
        """Return the text with these blocks in the places of the steps."""
        parts = [self.gaps[0]]
        for block, gap in zip(blocks, self.gaps[1:], strict=True):
            parts += [block, gap]
        return "".join(parts)


def _widened(gap: str, newline: str, *, front: bool, end: bool) -> str:
    """Return a gap with an empty line at its ends, one for both where it holds nothing else."""
    if not gap:
        return gap
    if end and not _BLANK_LINE_AT_END.search(gap):
        gap += newline
    if front and gap.strip() and not _BLANK_LINE_AT_FRONT.match(gap):
        gap = newline + gap
    return gap


def extents(plan: Plan) -> tuple[Span, ...]:
    """Return where each step stands, a byte order mark left out."""
    first = len(BOM) if plan.source.text.startswith(BOM) else 0
    return tuple(Span(max(first, step.span.start), step.span.end) for step in plan.steps)


def read_layout(plan: Plan) -> Layout:
    """Return the text around the steps of a plan."""
    text = plan.source.text
    spans = extents(plan)
    ends = [0, *(span.end for span in spans)]
    starts = [*(span.start for span in spans), len(text)]
    return Layout(tuple(text[end:start] for end, start in zip(ends, starts, strict=True)))
