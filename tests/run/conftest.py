"""What the tests of runs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.bench import Bench
from tests.store.conftest import postgres

__all__ = ["postgres"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
