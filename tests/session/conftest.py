"""A workspace for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forked import remembered_break_out
from tests.session.scratch import Scratch


@pytest.fixture(autouse=True)
def _walls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try the walls of a cell once, and not in each session."""
    monkeypatch.setattr("planbound.cells.choose.try_to_break_out", remembered_break_out)


@pytest.fixture
def bench(tmp_path: Path) -> Scratch:
    """Return a repository in which nothing is configured."""
    return Scratch(tmp_path)
