"""How long a service asks to wait, as outputs tell it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planbound.plan.limits import LimitError, parse_duration
from planbound.source.pattern import lazy_pattern

MAX_RETRY_AFTER = 3600.0
"""Who asks for more than an hour is asked again after one."""
_AMOUNT = (
    r"\d{1,6}(?:\.\d{1,9})?\s?"
    r"(?:milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)(?![a-z])"
)
_DURATION = rf"{_AMOUNT}(?:[ ,]{{0,2}}{_AMOUNT}){{0,3}}"
_ASKED = lazy_pattern(
    r"retry[-_ ]?after[-_]?ms[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?P<milliseconds>\d{1,9})(?![\d.:-])"
    r"|retry[-_ ]?(?:after|delay)(?:[-_]?seconds)?[\"']?\s{0,2}"
    rf"(?:[:=]?\s{{0,2}}[\"']?(?P<header>{_DURATION})"
    r"|[:=]\s{0,2}[\"']?(?P<seconds>\d{1,6})(?:\.\d{1,6})?(?![\w.:-]))"
    r"|(?:try(?:ing)? again|retry(?:ing)?|wait(?:ing)?|available|resets?) "
    rf"(?:in |for |after )?(?:about |at least |approximately )?(?P<said>{_DURATION})",
    re.IGNORECASE,
)


def retry_after(lines: Sequence[str]) -> float | None:
    """Return the seconds that were asked for last; a date is not read."""
    for line in reversed(lines):
        match = None
        for match in _ASKED.finditer(line):  # noqa: B007 - the last one counts
            pass
        if match is not None:
            return min(_seconds(match), MAX_RETRY_AFTER)
    return None


def _seconds(match: re.Match[str]) -> float:
    if match["milliseconds"]:
        return int(match["milliseconds"]) / 1000
    if match["seconds"]:
        return float(match["seconds"])
    try:
        return float(parse_duration(match["header"] or match["said"]))
    except LimitError:  # Nothing at all, such as `0s`.
        return 0.0
