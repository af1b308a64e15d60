"""What vitest says: `Tests  1 failed | 2 passed (3)` under the test files."""

from __future__ import annotations

import re

from planbound.engine.judging.summary.model import COUNT, Summary, added, counts, number
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    r"^ {0,20}Test Files  ([0-9a-z| ()]{1,200})\n {1,20}Tests  ([0-9a-z| ()]{1,200})$"
    rf"(?:\n {{1,20}}Errors  ({COUNT}) errors?$)?"
    r"|^No test files found, exiting with code [01]$",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what vitest says, all its runs together."""
    return added("vitest", (_run(*found) for found in _LAST.findall(text)))


def _run(files: str, tests: str, errors: str) -> Summary:
    found = counts(tests)
    # A file that cannot be loaded fails without a test; an error may be outside of all tests.
    failed = (found.get("failed", 0) or counts(files).get("failed", 0)) + number(errors)
    skipped = found.get("skipped", 0) + found.get("todo", 0)
    return Summary("vitest", found.get("passed", 0), failed, skipped)
