"""Repositories for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journal.conftest import postgres
from tests.run.dbos.databases import new_database
from tests.team.repo import Team

__all__ = ["postgres"]


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Return a repository with one commit."""
    return Team(tmp_path)


@pytest.fixture
def shared_team(tmp_path: Path, postgres: str) -> Team:
    """Return a repository whose journal is in PostgreSQL."""
    team = Team(tmp_path)
    team.extra["PLANBOUND_DATABASE_URL"] = new_database(postgres)
    return team
