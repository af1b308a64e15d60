"""The demonstrations do what they say."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tables import first_always
from tools.console import ROOT


@pytest.mark.thorough
@pytest.mark.parametrize("name", first_always(["plan_language", "judging"]))
def test_a_demonstration_ends_as_it_should(name: str) -> None:
    done = subprocess.run(
        [sys.executable, f"demo/{name}.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.requirement("demo.run")
def test_the_demo_shows_who_was_caught_and_what_it_came_to() -> None:
    done = subprocess.run(
        [sys.executable, "demo/run.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    shown = [
        "green now: if it is green after the work it `holds`, and is not proved",
        "approved ",
        "[Task 1/4] ✓ Find where rounding happens",
        "[Task 2/4] ✗ Round once, at the end: contract failed (exit 1): 1 failed, 1 passed",
        "$ kill -KILL ",
        "the last attempt was cut off; tried again",
        "changed outside `touches`: tests/__init__.py",
        "waits for a person",
        "retry --as mara",
        "[Task 4/4] = Leave the code tidy: holds (it was green before the work)",
        "3/4 proved, 1 holds, 0 waived, 1/1 postconditions.",
        "TASK_COMPLETED",
        "the chain is whole",
        "rounding: done",
        "[=] 4. Leave the code tidy: holds (it was green before the work)",
    ]
    assert done.returncode == 0, done.stdout + done.stderr
    at = 0
    for text in shown:
        at = done.stdout.find(text, at)
        assert at >= 0, f"`{text}` is not shown, or too early:\n{done.stdout}"
