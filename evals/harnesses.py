"""The harnesses: each says whether it takes the work in a workspace for done.

A harness sees an exercise once before the work, and then the workspace after each agent.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from evals.bench import SECONDS, Bench, Ran
from evals.exercise import Exercise, Layout


class Judgement(NamedTuple):
    """What a harness says of the work."""

    done: bool | None
    """None: there was nothing to be done, the tests passed before the work."""
    verdict: str
    reason: str
    seconds: float
    evidence: str = ""


Judge = Callable[[], Judgement]


class Harness(NamedTuple):
    """One way to say whether work is done."""

    title: str
    prepare: Callable[[Exercise, Layout, Bench], Judge]
    """See the exercise before the work; return what judges the workspace after it."""
    split: bool = False
    """Whether half of the tests are held out."""
    needs: str = ""
    """What must be in the data folder."""


def exit_code(_exercise: Exercise, layout: Layout, bench: Bench) -> Judge:
    """Believe the exit code of the tests, in the workspace."""
    return lambda: _by_code(bench.contract(layout.command))


def hashes_of_tests(_exercise: Exercise, layout: Layout, bench: Bench) -> Judge:
    """Believe the exit code if the test files are what they were."""
    before = _hashes(layout, bench)

    def judge() -> Judgement:
        ran = bench.contract(layout.command)
        if _hashes(layout, bench) != before:
            return Judgement(done=False, verdict="changed", reason="tests", seconds=ran.seconds)
        return _by_code(ran)

    return judge


def bernstein(_exercise: Exercise, layout: Layout, bench: Bench) -> Judge:
    """Ask the function with which bernstein 3.23.0 checks that tests pass, in its own process."""
    asked = (
        "import sys, time; from pathlib import Path; "
        "from bernstein.core.quality.janitor import _check_test_passes; begun = time.monotonic(); "
        "done = _check_test_passes(sys.argv[1], Path()); "
        "print(time.monotonic() - begun, 'yes' if done else 'no')"
    )
    words = [str(bench.data / BERNSTEIN), "-I", "-c", asked, layout.command]

    def judge() -> Judgement:
        ran = bench.run(words, seconds=300)
        if ran.code != 0:
            raise RuntimeError(f"bernstein ended with {ran.code}: {ran.output[-2000:]}")
        seconds, said = ran.output.split()[-2:]
        return Judgement(said == "yes", said, "", float(seconds))

    return judge


def planbound(exercise: Exercise, layout: Layout, bench: Bench) -> Judge:
    """Let Planbound judge, as it is without a line of configuration."""
    return _planbound(exercise, layout, bench, "")


def planbound_held_out(exercise: Exercise, layout: Layout, bench: Bench) -> Judge:
    """Let Planbound judge with held-out tests, and demand E3."""
    held_out = json.dumps(str(bench.held_out))
    return _planbound(
        exercise, layout, bench, f'[judging]\nevidence = "E3"\nheld_out = [{held_out}]\n'
    )


BERNSTEIN = "bernstein/bin/python"

HARNESSES: Mapping[str, Harness] = MappingProxyType(
    {
        "exit-code": Harness("exit code", exit_code),
        "test-hashes": Harness("exit code and test hashes", hashes_of_tests),
        "bernstein": Harness("bernstein 3.23.0", bernstein, needs=BERNSTEIN),
        "planbound": Harness("Planbound, default", planbound),
        "planbound-held-out": Harness("Planbound, held-out tests", planbound_held_out, split=True),
    }
)

PROGRAM = Path(sys.executable).with_name("planbound")


def _by_code(ran: Ran) -> Judgement:
    code = "timeout" if ran.code is None else f"exit {ran.code}"
    return Judgement(ran.code == 0, code, ran.output[-300:], ran.seconds)


def _hashes(layout: Layout, bench: Bench) -> list[str | None]:
    return [
        hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        for path in (bench.workspace / name for name in layout.visible)
    ]


# -- Planbound -------------------------------------------------------------------------------------

_PLAN = """\
---
type: plan
status: draft
owner: evals
touches: [{touches}]
---

# {title}

## Steps

### 1. Make the tests pass

**target:** coder
**contract_timeout:** {seconds:.0f}s
**task:** Write {files} so that the tests pass.

**contract:**
```shell
{command}
```
exit_code == 0
"""


def _planbound(exercise: Exercise, layout: Layout, bench: Bench, configuration: str) -> Judge:
    plan = _PLAN.format(
        touches=", ".join(json.dumps(path) for path in exercise.starter),
        title=exercise.key,
        files=", ".join(f"`{path}`" for path in exercise.starter),
        command=layout.command,
        seconds=SECONDS,
    )
    folder = bench.workspace / ".harness"
    folder.mkdir()
    (folder / "PLAN.md").write_text(plan, encoding="utf-8")
    path = json.dumps([each for each in bench.binaries[1:] if Path(each).is_dir()])
    text = configuration + f"[contracts]\npath = {path}\n"
    (bench.workspace / "planbound.toml").write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", "."], cwd=bench.workspace, check=True)
    before = _call(bench, "baseline")
    red = json.loads(before.output)["verdicts"][0]["verdict"] != "pass"

    def judge() -> Judgement:
        ran = _call(bench, "judge", "--step", "1")
        (verdict,) = json.loads(ran.output)["verdicts"]
        done = verdict["verdict"] == "pass"
        if done and not red:
            return Judgement(None, "holds", verdict["reason"], ran.seconds)
        evidence = verdict["evidence"] or ""
        return Judgement(done, verdict["verdict"], verdict["reason"], ran.seconds, evidence)

    return judge


def _call(bench: Bench, *words: str) -> Ran:
    ran = bench.run(
        [str(PROGRAM), *words, "--json", "--state", str(bench.folder / "state")], seconds=600
    )
    if ran.code not in (0, 1):
        raise RuntimeError(f"`planbound {words[0]}` ended with {ran.code}: {ran.output[-2000:]}")
    return ran
