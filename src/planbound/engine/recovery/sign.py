"""A sign of why an agent failed, in what it printed."""

from __future__ import annotations

import re
from typing import NamedTuple

from planbound.engine.recovery.failure import FailureClass
from planbound.source.pattern import lazy_pattern


class OutputSign(NamedTuple):
    """A line of output that tells the kind of a failure."""

    rule: str
    kind: FailureClass
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None = None
    """What else in the line makes it no such sign."""


def sign(rule: str, kind: FailureClass, *texts: str, unless: str | None = None) -> OutputSign:
    """Return the sign that any of the texts is, in upper or lower case."""
    return OutputSign(
        f"agent-{rule}",
        kind,
        lazy_pattern("|".join(texts), re.IGNORECASE),
        lazy_pattern(unless, re.IGNORECASE) if unless else None,
    )
