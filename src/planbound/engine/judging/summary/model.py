"""What a test runner says of its own run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planbound.source.pattern import lazy_pattern

# More digits than this are no count of tests.
COUNT = "[0-9]{1,9}"
_PART = lazy_pattern(rf"({COUNT}) ([a-z]{{1,20}})")


class Summary(NamedTuple):
    """How many tests ran, and how they ended."""

    runner: str
    passed: int = 0
    failed: int = 0
    """Failures and errors together."""
    skipped: int = 0
    """Also what is pending, to do, or expected to fail."""
    deselected: int = 0

    @property
    def total(self) -> int:
        """Return how many tests there were, without those that were deselected."""
        return self.passed + self.failed + self.skipped


def added(runner: str, summaries: Iterable[Summary]) -> Summary | None:
    """Return several runs as one; None where there is none."""
    several = tuple(summaries)
    if not several:
        return None
    return Summary(
        runner,
        passed=sum(each.passed for each in several),
        failed=sum(each.failed for each in several),
        skipped=sum(each.skipped for each in several),
        deselected=sum(each.deselected for each in several),
    )


def counts(text: str) -> Mapping[str, int]:
    """Return the numbers of `1 failed, 2 passed`, by the word behind each."""
    return {word: int(count) for count, word in _PART.findall(text)}


def number(digits: str | None) -> int:
    """Return a count that may be missing."""
    return int(digits) if digits else 0
