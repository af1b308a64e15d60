"""Repositories for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.team.repo import Team


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Return a repository with one commit."""
    return Team(tmp_path)
