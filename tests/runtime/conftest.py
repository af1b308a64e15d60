"""A database for each test, of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.bench import Bench
from tests.runtime.databases import new_database
from tests.store.conftest import postgres

__all__ = ["postgres"]


@pytest.fixture(params=["sqlite", "postgres"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A repository whose runs are driven by DBOS, on each kind of database."""
    made = Bench(tmp_path)
    if request.param == "postgres":
        made.extra["PLANBOUND_DATABASE_URL"] = new_database(request.getfixturevalue("postgres"))
    return made
