"""A workspace for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.scratch import Scratch


@pytest.fixture
def bench(tmp_path: Path) -> Scratch:
    """Return a repository in which nothing is configured."""
    return Scratch(tmp_path)
