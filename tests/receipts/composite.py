"""Runs a composite action as a runner of GitHub does: each step in bash, inputs as variables."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.forked import lay_program

ACTION = Path(__file__).parents[2] / "action.yml"
INPUT = re.compile(r"\$\{\{ inputs\.([a-z]+) \}\}")


class ActionOutcome(NamedTuple):
    """What an action did."""

    code: int
    out: str
    summary: str


def read_action() -> dict[str, Any]:
    """Return the action."""
    found: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    return found


def run_action(
    clone: Path, folder: Path, inputs: Mapping[str, str], variables: Mapping[str, str]
) -> ActionOutcome:
    """Run every step in a clone; after one that fails, no other.

    The program is one that has a fork do the work.
    """
    program = folder / "planbound"
    forker = lay_program(program)
    action = read_action()
    unknown = set(inputs) - set(action["inputs"])
    assert not unknown, unknown
    given = {name: str(known["default"]) for name, known in action["inputs"].items()}
    given |= {"program": str(program), **inputs}
    temporary = folder / "runner"
    temporary.mkdir(exist_ok=True)
    summary = temporary / "summary.md"
    summary.write_text("")
    base = {
        **variables,
        "RUNNER_TEMP": str(temporary),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_ACTION_PATH": str(ACTION.parent),
        "GITHUB_WORKSPACE": str(clone),
    }
    out = ""
    for number, step in enumerate(action["runs"]["steps"]):
        own = {}
        for name, text in step.get("env", {}).items():
            match = INPUT.fullmatch(text)
            assert match is not None, text
            own[name] = given[match[1]]
        script = temporary / f"step-{number}.sh"
        script.write_text(step["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=clone,
            env={"PATH": os.environ["PATH"], **base, **own},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            pass_fds=[forker],
        )
        out += done.stdout
        if done.returncode != 0:
            return ActionOutcome(done.returncode, out, summary.read_text())
    return ActionOutcome(0, out, summary.read_text())
