"""Reading what a test runner says of its own run from its output.

What a runner says is no proof, but it tells a run of no tests from a run of many.
"""

from __future__ import annotations

from collections.abc import Callable

from planbound.engine.judging.summary import (
    cargo,
    ctest,
    go,
    jest,
    junit,
    mocha,
    node,
    phpunit,
    pytest,
    rspec,
    tap,
    unittest,
    vitest,
)
from planbound.engine.judging.summary.junit import Case, read_junit
from planbound.engine.judging.summary.model import Summary, added
from planbound.source.pattern import lazy_pattern

__all__ = ["READERS", "Case", "Summary", "read_junit", "read_summary"]

READERS: tuple[Callable[[str], Summary | None], ...] = (
    pytest.read,
    unittest.read,
    go.read,
    cargo.read,
    jest.read,
    vitest.read,
    mocha.read,
    node.read,
    ctest.read,
    rspec.read,
    phpunit.read,
    tap.read,
    junit.read,
)

_ESCAPE = lazy_pattern(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)|[()][0-9A-B])"
)


def read_summary(text: str) -> Summary | None:
    """Return what the runners in an output say; None where no known runner speaks in it."""
    plain = _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    found = {each.runner: each for reader in READERS if (each := reader(plain)) is not None}
    if "node --test" in found:
        # Its output is in the format of TAP too.
        found.pop("tap", None)
    if len(found) > 1:
        # A report that a runner writes besides what it says.
        found.pop("junit", None)
    return added(" + ".join(found), found.values())
