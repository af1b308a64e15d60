"""What Python's unittest says: `Ran 3 tests in 0.001s`, and `OK` or `FAILED (failures=1)`."""

from __future__ import annotations

import re

from planbound.engine.judging.summary.model import COUNT, Summary, added
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    rf"^-{{70}}\nRan ({COUNT}) tests? in [0-9.]{{1,20}}s\n\n"
    r"(OK|FAILED|NO TESTS RAN)(?: \(([a-z0-9=, ]{1,200})\))?$",
    re.MULTILINE,
)
_PART = lazy_pattern(rf"([a-z ]{{1,40}})=({COUNT})")


def read(text: str) -> Summary | None:
    """Return what unittest says, all its runs together."""
    return added("unittest", (_run(*found) for found in _LAST.findall(text)))


def _run(ran: str, word: str, details: str) -> Summary:
    found = {name.strip(): int(count) for name, count in _PART.findall(details)}
    skipped = found.get("skipped", 0) + found.get("expected failures", 0)
    failed = sum(found.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    if word == "FAILED":
        failed = max(failed, 1)
    # What fails before its class is set up did not run, and a subtest is no test.
    return Summary("unittest", max(0, int(ran) - failed - skipped), failed, skipped)
