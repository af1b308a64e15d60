"""What jest says: `Tests:       1 failed, 2 passed, 3 total` under the test suites."""

from __future__ import annotations

import re

from planbound.engine.judging.summary.model import Summary, added, counts
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    r"^Test Suites: ([0-9a-z, ]{1,200})\nTests: {1,10}([0-9a-z, ]{1,200} total)$"
    r"|^No tests found(?:, exiting with code [01]$| related to files changed since .{0,200}$)",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what jest says, all its runs together."""
    return added("jest", (_run(*found) for found in _LAST.findall(text)))


def _run(suites: str, tests: str) -> Summary:
    found = counts(tests)
    # A suite that cannot be loaded fails without a test.
    failed = found.get("failed", 0) or counts(suites).get("failed", 0)
    skipped = found.get("skipped", 0) + found.get("todo", 0) + found.get("pending", 0)
    return Summary("jest", found.get("passed", 0), failed, skipped)
