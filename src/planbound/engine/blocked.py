"""An agent that says that a step cannot be done."""

from __future__ import annotations

import re

from planbound.source.pattern import lazy_pattern

SAYS_BLOCKED = "the agent says that it is blocked"
_LOOKED_AT = 20_000
_LONGEST = 500
# At the beginning of a line, in capitals: the prompt itself speaks of the word, too.
_BLOCKED = lazy_pattern(
    r"^[ \t>*_#`-]{0,8}BLOCKED\b[ \t*_`:.—–-]{0,8}([^\r\n]{0,2000})", re.MULTILINE
)


def blocked_reason(output: str) -> str | None:
    """Return why an agent says it cannot do the step; None where it says nothing of the kind."""
    found = None
    for match in _BLOCKED.finditer(output[-_LOOKED_AT:]):
        found = match[1].strip(" *_`")[:_LONGEST] or "without a reason"
    return found
