"""What mocha says: `2 passing (3ms)`, then what is pending and what fails."""

from __future__ import annotations

import re

from planbound.engine.judging.summary.model import COUNT, Summary, added, number
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    rf"^  ({COUNT}) passing \([0-9]{{1,9}}(?:ms|s|m|h)\)$"
    rf"(?:\n  ({COUNT}) pending$)?(?:\n  ({COUNT}) failing$)?",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what mocha says, all its runs together."""
    runs = (
        Summary("mocha", int(passed), number(failed), number(pending))
        for passed, pending, failed in _LAST.findall(text)
    )
    return added("mocha", runs)
