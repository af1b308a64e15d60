"""What rspec says: `3 examples, 1 failure, 1 pending`."""

from __future__ import annotations

import re

from planbound.engine.judging.summary.model import COUNT, Summary, added, number
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    rf"^({COUNT}) examples?, ({COUNT}) failures?(?:, ({COUNT}) pending)?"
    rf"(?:, ({COUNT}) errors? occurred outside of examples)?$",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what rspec says, all its runs together."""
    return added("rspec", (_run(*map(number, found)) for found in _LAST.findall(text)))


def _run(examples: int, failures: int, pending: int, outside: int) -> Summary:
    return Summary("rspec", max(0, examples - failures - pending), failures + outside, pending)
