"""What a run of thousands of steps needs stays what a short one needs."""

from __future__ import annotations

import subprocess
import sys

from tests.run.bench import Bench, Step

FIRST = Step("Make a", work="echo right > src/a; echo right > src/c", touches="src/a src/c")
LATER = Step("Make c", work="true")
COLLECTED = """
import gc
from planbound.cli.main import main
gc.disable()  # as the program begins
found = []
gc.callbacks.append(lambda phase, told: found.append(told["collected"]) if phase == "stop" else 0)
gc.set_threshold(50)  # a few steps are to be enough
main(["run", "PLAN"])
assert sum(found) > 100, found
"""


def test_a_run_lets_go_of_what_its_steps_left_behind(bench: Bench) -> None:
    bench.prepare(FIRST, LATER)
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED],
        cwd=bench.workspace,
        env=bench.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
