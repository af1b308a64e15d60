"""The life of a plan without a failure, beside one bare run of its contract.

A plan of one step, whose suite is also its postcondition: looked at, approved, run to its end.
Goals: the contract runs twice, once red and once green; the yes after a look that changed nothing
runs nothing, and takes less than 0.3 seconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import record
from benchmarks.process import broken, clean_environment
from benchmarks.rig import PROGRAM

RUNS, YES = 2, 0.300
JUDGED = {"BASELINE_OBSERVED", "CONTRACT_EVALUATED"}
SUITE = "head -c 9 /dev/urandom | base64; sleep 2; grep -qx right src/answer"
"""Each of its runs prints something else."""
PLAN = f"""\
---
type: plan
status: draft
owner: bench
touches: ["src/**"]
---

# Answer rightly

## Steps

### 1. Write the answer

**target:** coder
**task:** Write the one word `right` to the file `src/answer`, and nothing else.

**contract:**
```shell
{SUITE}
```

## Postconditions

1. The answer is still right
   ```shell
   {SUITE}
   ```
"""
AGENT = """\
[agents.coder]
kind = "command"
command = ["/bin/sh", "-c", "echo right > src/answer"]
"""


def main() -> int:
    """Measure, print, record; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    lives = [live() for _ in range(parser.parse_args().rounds)]
    values = {name: statistics.median(life[name] for life in lives) for name in lives[0]}
    record("life", values)
    for name, value in values.items():
        print(f"{name:24} {value:7.3f}")
    return 1 if values["runs"] > RUNS or values["approve, the yes"] > YES else 0


def live() -> dict[str, float]:
    """Take one plan through its life; return the seconds of each part."""
    with tempfile.TemporaryDirectory(prefix="planbound-bench-") as folder:
        root = Path(folder, "repository")
        environment = clean_environment(folder, PLANBOUND_STATE=str(Path(folder, "state")))
        for name, text in {
            ".harness/PLAN.md": PLAN,
            "planbound.toml": AGENT,
            "src/answer": "wrong\n",
        }.items():
            root.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
            root.joinpath(name).write_text(text, encoding="utf-8")

        def say(*command: str, code: int = 0) -> tuple[float, bytes]:
            start = time.perf_counter()
            done = subprocess.run(
                command,
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            if done.returncode != code:
                broken([*command], done.returncode, done.stdout + done.stderr)
            return time.perf_counter() - start, done.stdout

        say("git", "init", "--quiet")
        bare, _ = say("bash", "-c", SUITE, code=1)
        look, _ = say(PROGRAM, "approve", "PLAN", code=4)
        digest = json.loads(say(PROGRAM, "show", "PLAN", "--json")[1])["digest"]
        yes, _ = say(PROGRAM, "approve", "PLAN", "--digest", digest[:12], "--as", "bench")
        run, _ = say(PROGRAM, "run", "PLAN")
        lines = say(PROGRAM, "log", "PLAN", "--json")[1].splitlines()
        events = map(json.loads, lines)
        printed = {each["details"]["output_digest"] for each in events if each["event"] in JUDGED}
        return {
            "bare": bare,
            "approve, a look": look,
            "approve, the yes": yes,
            "run": run,
            "whole": look + yes + run,
            "runs": len(printed),
        }


if __name__ == "__main__":
    sys.exit(main())
