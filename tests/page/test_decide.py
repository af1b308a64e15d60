"""Deciding about a plan on the page, as a browser does it: the server is a process."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_judge import Project, plan_text
from tests.page.browser import Answer, RunningServer, hidden_fields, serving

PATIENCE = 60.0


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("deciding"))


@pytest.fixture(scope="module")
def page(workspace: Project) -> Iterator[RunningServer]:
    with serving(workspace, "--decide-anyway") as running:
        running.enter()
        yield running


def write(workspace: Project, name: str) -> Path:
    """Write a plan of its own for a test."""
    return workspace.plan(name, plan_text(f"test -e src/{name}-1", f"test -e src/{name}-2"))


def events(workspace: Project, name: str, kind: str) -> list[dict[str, Any]]:
    lines = workspace.run("log", name, "--json").out.splitlines()
    return [each for each in map(json.loads, lines) if each["event"] == kind]


def looked_at(page: RunningServer, name: str) -> Answer:
    """Let every contract be run, and return the gate as it is then."""
    began = page.submit(f"/plan/{name}/gate", f"/plan/{name}/look")
    assert began.status == 303, began.text
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        gate = page.get(f"/plan/{name}/gate")
        if "is run once now" not in gate.text:
            return gate
    raise AssertionError(gate.text)


def approval(gate: Answer, name: str, by: str = "mara") -> dict[str, str]:
    """Return the form that approves what is shown."""
    return {**hidden_fields(gate.text, f"/plan/{name}/approve"), "by": by}


@pytest.mark.requirement("page.decides")
def test_a_plan_is_approved_as_it_was_shown(workspace: Project, page: RunningServer) -> None:
    write(workspace, "plain")
    gate = looked_at(page, "plain")
    assert "test -e src/plain-1" in gate.text
    done = page.post("/plan/plain/approve", approval(gate, "plain"))
    assert done.status == 303, done.text
    (given,) = events(workspace, "plain", "GATE_APPROVED")
    details = given["details"]
    assert (details["method"], details["strength"], details["by"]) == ("page", "word", "mara")
    assert workspace.run("show", "plain", "--json").json["status"] == "approved"
