"""A short fuzz run; `make fuzz` is the long one."""

from __future__ import annotations

import pytest

from tests.fuzz import fuzz


@pytest.mark.requirement("verify.never-crashes")
@pytest.mark.parametrize("seed", range(4))
def test_mutated_plans_never_break_the_verifier(seed: int) -> None:
    assert fuzz(400, seed) == 0
