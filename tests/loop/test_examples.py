"""The examples run, offline, and show what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.console import ROOT, Laid, fences

PAGE = "docs/how-to/in-your-own-loop.md"


def run(script: Path, scratch: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=scratch,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(scratch), "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.requirement("examples.three-files")
def test_three_files_shows_who_is_sent_back_and_what_a_plan_costs(tmp_path: Path) -> None:
    shown = run(ROOT / "examples/three_files/run.py", tmp_path)
    at = 0
    for text in [
        "no plan, skips a file\n  it says: All three files exist and are measured.",
        "nobody asks",
        "plan and gate, skips a file\n  it says: All three files exist and are measured.",
        "the gate: The plan is not done, 2 things are missing:",
        "step 3 “Measure gamma.bin” is not proved (sizes.json says None of gamma.bin)",
        "The largest is gamma.bin.\n  the gate: done",
    ]:
        at = shown.find(text, at)
        assert at >= 0, f"`{text}` is not shown, or too early:\n{shown}"
    table = [line.split() for line in shown[shown.index("tokens in") :].splitlines()[1:5]]
    skips, careful, sent_back, planned = table
    assert skips[-2:] == ["beta.bin,", "false"]
    assert [row[-1] for row in (careful, sent_back, planned)] == ["gamma.bin"] * 3
    assert sent_back[-3:-1] == ["1", "done"]
    assert planned[-3:-1] == ["0", "done"]
    turns, tokens = int(sent_back[6]), int(sent_back[7])
    assert turns > int(careful[3])
    assert tokens > int(careful[4])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("example", "last"),
    [
        ("own_loop.py", "done after 3 turns"),
        ("with_pydantic_ai.py", "  FINALIZATION_ACCEPTED"),
    ],
)
def test_the_small_examples_end_as_they_say(example: str, last: str, tmp_path: Path) -> None:
    assert run(ROOT / "examples" / example, tmp_path).splitlines()[-1] == last


@pytest.mark.thorough
def test_the_loop_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    (laid,) = (part for part in fences(PAGE) if isinstance(part, Laid))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    script = tmp_path / laid.path
    script.write_text(laid.content)
    printed = run(script, workspace).strip()
    assert printed == "done 2 Now it is done."
    assert f"This prints `{printed}`" in (ROOT / PAGE).read_text()
