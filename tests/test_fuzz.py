"""A short fuzz run; `make fuzz` is the long one."""

from __future__ import annotations

import pytest

from tests.fuzz import fuzz
from tests.tables import first_always


@pytest.mark.requirement("verify.never-crashes")
@pytest.mark.parametrize("seed", first_always(range(4)))
def test_mutated_plans_never_break_the_verifier(seed: int) -> None:
    assert fuzz(400, seed) == 0
