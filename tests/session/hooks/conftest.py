"""What the tests of hooks share."""

from pathlib import Path

import pytest

from tests.session.hooks.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)
