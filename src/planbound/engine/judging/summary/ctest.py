"""What ctest says: `67% tests passed, 1 tests failed out of 3`."""

from __future__ import annotations

import re

from planbound.engine.judging.summary.model import COUNT, Summary, added, number
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    rf"^[0-9]{{1,3}}% tests passed, ({COUNT}) tests? failed out of ({COUNT})$"
    r"|^No tests were found!!!$"
    rf"|^\t {{0,9}}{COUNT} - .{{1,500}} \((Skipped|Disabled)\)$",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what ctest says, all its runs together."""
    runs: list[Summary] = []
    for failed, total, left_out in _LAST.findall(text):
        if not left_out:
            passed = max(0, number(total) - number(failed))
            runs.append(Summary("ctest", passed, number(failed)))
        elif runs:
            # What is skipped was counted as passed; what is disabled was not counted.
            last = runs[-1]
            passed = max(0, last.passed - (left_out == "Skipped"))
            runs[-1] = last._replace(passed=passed, skipped=last.skipped + 1)
    return added("ctest", runs)
