"""What a hook costs that judges nothing: against `python -c pass` in the same run.

An agent waits for it at every call of a tool. Limit: 80 ms more than `python -c pass`. A goal is so
many times that floor; one that is missed stays in the table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.measure import FloorGoal, outcome, record, side_by_side

SLACK = 0.080
FLOOR = "python -c pass"
CREATE = """
from planbound.session.tools import open_tools
steps = [{"title": f"Make file {n}", "contract": f"sh check.sh {n}"} for n in range(1, 11)]
assert open_tools(session="benchmark").plan_create("Make ten files", steps).ok
"""
PROVED = """
from pathlib import Path
from planbound.session.tools import open_tools
tools = open_tools(session="benchmark")
steps = [{"title": "Make a file", "contract": "sh check.sh 1", "touches": ["src/**"]}]
assert tools.plan_create("Make a file", steps).ok
Path("src").mkdir()
Path("src/1.txt").write_text("made")
assert tools.step_update(1, "done").ok
"""
JUDGED = "stop, a judged tree"
"""It reads the tree and ends the plan, so the limit of those that only look is not its own."""
NO_PLAN = "stop, no plan"
GOALS = {NO_PLAN: FloorGoal(2.7, 0.030), JUDGED: FloorGoal(5.4, 0.060)}
CALL: dict[str, object] = {"tool_name": "Write", "tool_input": {"file_path": "src/one.txt"}}
TASK = {"id": "t", "type": "shell", "status": "running"}


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = _measure(folder, arguments.rounds)
    floor = times[FLOOR]
    limit = floor + SLACK
    broken = False
    for name, seconds in times.items():
        over = seconds > limit and name != JUDGED
        broken |= over
        goal = GOALS.get(name)
        told = f" (goal {goal.times} x, {outcome(seconds / floor, goal.times)})" if goal else ""
        print(
            f"{name:40} {seconds * 1000:7.1f} ms, {seconds / floor:4.1f} x the floor"
            f"{told}{'  OVER THE LIMIT' if over else ''}"
        )
    print(f"{'limit (pass + 80 ms)':40} {limit * 1000:7.1f} ms")
    record("hook", {**times, "limit": limit})
    return 1 if broken else 0


def _measure(folder: str, rounds: int) -> dict[str, float]:
    program = str(Path(sys.executable).with_name("planbound"))
    # As for a user: byte code is kept. Some machines that test software switch that off.
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(Path(folder, "home")),
        "LC_ALL": "C.UTF-8",
    }
    busy, empty = Path(folder, "busy"), Path(folder, "empty")
    # Who waits too often is asked: each of these is the first wait of its plan.
    waiting = [Path(folder, f"waits{number}") for number in range(rounds + 1)]
    # A stop on a judged tree ends the plan: each of these has one of its own.
    judged = [Path(folder, f"judged{number}") for number in range(rounds + 1)]
    for workspace in (busy, empty, *waiting, *judged):
        workspace.joinpath(".git").mkdir(parents=True)
    for workspace in (busy, *waiting, *judged):
        workspace.joinpath("check.sh").write_text('test -s "src/$1.txt"\n', encoding="utf-8")
        made = PROVED if workspace in judged else CREATE
        subprocess.run([sys.executable, "-c", made], cwd=workspace, env=environment, check=True)

    def start(*words: str, at: Path = busy, fields: Mapping[str, object] = {}) -> bytes:
        event = {"session_id": "s", "cwd": str(at), **fields}
        done = subprocess.run(
            words,
            cwd=at,
            env=environment,
            input=json.dumps(event).encode(),
            stdout=subprocess.PIPE,
            check=True,
        )
        assert words[0] != program or isinstance(json.loads(done.stdout), dict)
        return done.stdout

    def hook(moment: str, **fields: object) -> None:
        start(program, "hook", moment, "--host", "claude", fields=fields)

    def wait() -> None:
        fields = {"background_tasks": [TASK]}
        start(program, "hook", "stop", "--host", "claude", at=waiting.pop(), fields=fields)

    def end() -> None:
        said = start(program, "hook", "stop", "--host", "claude", at=judged.pop())
        assert b"the plan is done" in said

    return side_by_side(
        {
            FLOOR: lambda: start(sys.executable, "-c", "pass"),
            NO_PLAN: lambda: start(program, "hook", "stop", at=empty),
            "stop, a task in the background": wait,
            JUDGED: end,
            "pre-tool-use, open plan": lambda: hook("pre-tool-use", **CALL),
            "user-prompt-submit, open plan": lambda: hook("user-prompt-submit"),
            "session-start, open plan": lambda: hook("session-start"),
        },
        rounds,
    )


if __name__ == "__main__":
    sys.exit(main())
