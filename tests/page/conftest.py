"""One page for all tests of a module: servers are slow to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.browser import RunningServer, serving
from tests.program import Program


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Return a project with a plan `hello`."""
    workspace: Path = tmp_path_factory.mktemp("project")
    (workspace / ".git").mkdir()
    program = Program(workspace)
    program.plan("hello")
    return program


@pytest.fixture(scope="module")
def page(project: Program) -> Iterator[RunningServer]:
    """Serve the page of the project, to somebody who entered; it only shows."""
    with serving(project) as running:
        running.enter()
        yield running


@pytest.fixture(scope="module")
def deciding(project: Program) -> Iterator[RunningServer]:
    """Serve the page of the project, to somebody who entered and may decide."""
    with serving(project, "--decide-anyway") as running:
        running.enter()
        yield running
