"""How many examples a property test looks at."""

from __future__ import annotations

from hypothesis import settings

QUICK = 25
"""The most for one test of `make test`."""
_most: list[int] = []


def look_quickly() -> None:
    """Let every property test look at few examples; before any of them is imported."""
    _most.append(QUICK)


def examples(number: int, *, quick: int = QUICK) -> settings:
    """Return settings for so many examples in `make test-all`, and for few in `make test`.

    `quick` is for a test whose examples take long: how many are few.
    """
    return settings(max_examples=min([number, *(min(most, quick) for most in _most)]))
