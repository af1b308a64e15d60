"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.program import Program

# Machines are noisy: a slow example is not a failure. The same examples each time, so that a
# change is told from luck; with `PLANBOUND_EXPLORE=1` there are new ones.
settings.register_profile(
    "planbound",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=not os.environ.get("PLANBOUND_EXPLORE"),
)
settings.load_profile("planbound")

# These install real agent programs first: `make test-agents`.
collect_ignore = ["agents_installed"]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / ".git").mkdir()
    return Program(tmp_path)
