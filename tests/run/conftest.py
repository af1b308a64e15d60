"""What the tests of runs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journal.conftest import postgres
from tests.run.bench import Bench

__all__ = ["postgres"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
