"""What `node --test` says at its end, as TAP (`# pass 1`) or as `spec` (`ℹ pass 1`)."""

from __future__ import annotations

import re

from planbound.engine.judging.summary.model import COUNT, Summary, added
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    rf"^([#ℹ]) tests {COUNT}\n(?:\1 suites {COUNT}\n)?\1 pass ({COUNT})\n\1 fail ({COUNT})\n"
    rf"\1 cancelled ({COUNT})\n\1 skipped ({COUNT})\n\1 todo ({COUNT})\n\1 duration_ms ",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what `node --test` says, all its runs together."""
    runs = (
        Summary("node --test", int(passed), int(failed) + int(cancelled), int(skipped) + int(todo))
        for _mark, passed, failed, cancelled, skipped, todo in _LAST.findall(text)
    )
    return added("node --test", runs)
