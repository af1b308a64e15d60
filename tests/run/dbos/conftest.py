"""A database for each test, of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journal.conftest import POSTGRES, postgres
from tests.run.bench import Bench
from tests.run.dbos.databases import new_database

__all__ = ["postgres"]


@pytest.fixture(params=["sqlite", POSTGRES])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A repository whose runs are driven by DBOS, on each kind of database."""
    made = Bench(tmp_path)
    made.libraries = "models"
    if request.param == "postgres":
        made.extra["PLANBOUND_DATABASE_URL"] = new_database(request.getfixturevalue("postgres"))
    return made
