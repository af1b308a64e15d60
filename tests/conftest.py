"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.program import Program

# Machines are noisy: a slow example is not a failure.
settings.register_profile(
    "planbound", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("planbound")

# These install real agent programs first: `make test-agents`.
collect_ignore = ["agents_installed"]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / ".git").mkdir()
    return Program(tmp_path)
