"""What PHPUnit says: `OK (2 tests, 2 assertions)`, or `Tests: 6, Assertions: 3, Errors: 1.`."""

from __future__ import annotations

import re

from planbound.engine.judging.summary.model import COUNT, Summary, added, number
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    rf"^OK \(({COUNT}) tests?, {COUNT} assertions?\)$"
    rf"|^Tests: ({COUNT}), Assertions: ({COUNT})((?:, [A-Za-z ]{{1,40}}: {COUNT}){{0,12}})\.$"
    r"|^No tests executed!$",
    re.MULTILINE,
)
_PART = lazy_pattern(rf", ([A-Za-z ]{{1,40}}): ({COUNT})")


def read(text: str) -> Summary | None:
    """Return what PHPUnit says, all its runs together."""
    return added("phpunit", (_run(*found) for found in _LAST.findall(text)))


def _run(fine: str, tests: str, assertions: str, details: str) -> Summary:
    found = {name: int(count) for name, count in _PART.findall(details)}
    failed = found.get("Errors", 0) + found.get("Failures", 0)
    skipped = found.get("Skipped", 0) + found.get("Incomplete", 0)
    # Up to version 9 a class without tests is a test with a warning.
    empty = found.get("Warnings", 0) if not number(assertions) else 0
    passed = number(fine) or max(0, number(tests) - failed - skipped - empty)
    return Summary("phpunit", passed, failed, skipped)
