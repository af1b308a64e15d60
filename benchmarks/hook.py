"""What a hook costs that judges nothing: against `python -c pass` in the same run.

An agent waits for it at every call of a tool. Limit: 80 ms more than `python -c pass`.
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

from benchmarks.measure import record, side_by_side

SLACK = 0.080
FLOOR = "python -c pass"
CREATE = """
from planbound.wiring.loop import open_loop
steps = [{"title": f"Make file {n}", "contract": f"sh check.sh {n}"} for n in range(1, 11)]
assert open_loop(session="benchmark").plan_create("Make ten files", steps).ok
"""
CALL: dict[str, object] = {"tool_name": "Write", "tool_input": {"file_path": "src/one.txt"}}
TASK = {"id": "t", "type": "shell", "status": "running"}


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = _measure(folder, arguments.rounds)
    limit = times[FLOOR] + SLACK
    broken = False
    for name, seconds in times.items():
        over = seconds > limit
        broken |= over
        print(f"{name:40} {seconds * 1000:7.1f} ms{'  OVER THE LIMIT' if over else ''}")
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
    for workspace in (busy, empty):
        workspace.joinpath(".git").mkdir(parents=True)
    busy.joinpath("check.sh").write_text('test -s "src/$1.txt"\n', encoding="utf-8")
    subprocess.run([sys.executable, "-c", CREATE], cwd=busy, env=environment, check=True)

    def start(*words: str, at: Path = busy, fields: Mapping[str, object] = {}) -> None:
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

    def hook(moment: str, **fields: object) -> None:
        start(program, "hook", moment, "--host", "claude", fields=fields)

    return side_by_side(
        {
            FLOOR: lambda: start(sys.executable, "-c", "pass"),
            "stop, no plan": lambda: start(program, "hook", "stop", at=empty),
            "stop, a task in the background": lambda: hook("stop", background_tasks=[TASK]),
            "pre-tool-use, open plan": lambda: hook("pre-tool-use", **CALL),
            "user-prompt-submit, open plan": lambda: hook("user-prompt-submit"),
            "session-start, open plan": lambda: hook("session-start"),
        },
        rounds,
    )


if __name__ == "__main__":
    sys.exit(main())
