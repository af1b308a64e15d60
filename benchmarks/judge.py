"""Judging a contract, beside a bare `bash -c` of the same command.

Limits: on a repository of 10,000 files the whole of freeze, scope, cell, contract `true` and
re-hash adds at most 0.5 seconds; on one of 100 files at most 60 ms, on one of 100,000 at most 1.5
seconds; one file changes before each judgement, the others are known. A cell takes at most 15 ms
more than a bare spawn where its launcher is warm, and 40 by a fresh interpreter. Where the time
goes is printed. Of a contract that runs pytest it says what each run costs that is made to see a
failure: no limit, because that is the price of `E3`. The goals are those of a whole step, which
`benchmarks/step.py` measures.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.metadata import distribution

from benchmarks.manifest import SIZES, generate
from benchmarks.measure import record, side_by_side
from planbound.cells import launcher
from planbound.cells.cell import Cell, Request
from planbound.judging.case import Case, cases, plan_scope
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.contract import Setting
from planbound.judging.judge import judge
from planbound.judging.judges import judge_paths
from planbound.judging.protection import protect
from planbound.judging.reference import Frozen, freeze
from planbound.plan.parse import parse
from planbound.script import read_script
from planbound.workspace.context import Context
from planbound.workspace.manifest import changes
from planbound.workspace.stamps import WINDOW

LIMITS = {100: 0.060, 10_000: 0.500, 100_000: 1.500}
CELL_LIMITS = {"cell": 0.015, "cold cell": 0.040}
BASH = ["/bin/bash", "--noprofile", "--norc", "-e", "-c", "true"]
PLAN = """\
---
type: plan
status: draft
owner: benchmark
touches: ["part0/**"]
---

# Nothing

## Steps

### 1. Nothing

**target:** coder
**task:** Do nothing at all, and let the contract say that it is done.

**contract:**
```shell
{contract}
```
"""
PYTEST = ".venv/bin/python -m pytest -q tests"
PACKAGES = "pytest pluggy iniconfig packaging pygments".split()
WAYS = {
    "pytest judged": "canary = false",
    "pytest and a canary": "mutate = false",
    "pytest, a canary, other values": "",
}
"""Each way to judge the same contract, by its settings."""


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    gc.disable()  # as the program does
    values: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = os.path.join(folder, "home")
        for count in LIMITS:
            values |= measure(os.path.join(folder, str(count)), count, rounds)
        values |= measure_pytest(folder, rounds)
    record("judge", values)
    return report(values)


def measure(root: str, count: int, rounds: int) -> dict[str, float]:
    """Return the seconds of everything on a tree of so many files."""
    generate(root, count, SIZES.get(count, 5_500))
    os.makedirs(os.path.join(root, ".harness"))
    os.sync()  # or the disk is still busy with what was written
    time.sleep(WINDOW / 10**9 + 0.1)  # what is younger is read again
    judging = judging_context(Context(workspace=root))
    found, setting, frozen = prepare(judging, "true")
    request = Request(tuple(BASH), root, judging.environment, masked=judging.masked)
    return {
        f"{name} {count}": seconds
        for name, seconds in side_by_side(
            {
                "bash": partial(subprocess.run, BASH, check=True, stdin=subprocess.DEVNULL),
                "judge": partial(judge_changed, root, judging, found, setting),
                "cell": partial(judging.cell.run, request),
                "cold cell": partial(run_afresh, judging.cell, request),
                "hash": partial(judging.tree.manifest, judging.rules),
                "judges and scope": partial(compare, frozen, setting),
            },
            rounds,
        ).items()
    }


class NoLauncher(launcher.Launcher):
    """One that is never there."""

    def start(self, ends: launcher.CellEnds) -> None:
        """Let a fresh interpreter do it."""


def run_afresh(cell: Cell, request: Request) -> None:
    """Run a command in a cell that a fresh interpreter starts."""
    warm, launcher.WARM = launcher.WARM, NoLauncher()
    try:
        cell.run(request)
    finally:
        launcher.WARM = warm


def prepare(judging: JudgingContext, contract: str) -> tuple[tuple[Case, ...], Setting, Frozen]:
    """Return a contract to judge, with the tree frozen as it is."""
    plan = parse(PLAN.replace("{contract}", contract).encode(), path="PLAN.md")
    tree = freeze(judging.tree, judging.vault, judging.rules)
    frozen = Frozen("benchmark", tree.manifest, "", "", {})
    return tuple(cases(plan)), Setting(frozen=frozen, scope=plan_scope(plan)), frozen


def measure_pytest(folder: str, rounds: int) -> dict[str, float]:
    """Return the seconds of twenty tests by themselves, and judged in each way."""
    ways = {}
    for name, rules in WAYS.items():
        root = os.path.join(folder, name.replace(" ", "-"))
        make_project(root, rules)
        judging = judging_context(Context(workspace=root))
        found, setting, _ = prepare(judging, PYTEST)
        ways[name] = partial(judge_once, judging, found, setting)
    bare = partial(subprocess.run, PYTEST.split(), cwd=root, check=True, stdout=subprocess.DEVNULL)
    return side_by_side({"pytest": bare, **ways}, max(3, rounds // 3))


def make_project(root: str, rules: str) -> None:
    """Make a project of twenty tests with an environment of its own."""
    for name in ("src", "tests", ".harness"):
        os.makedirs(os.path.join(root, name))
    tests = "".join(
        f"def test_{number}():\n    assert double({number}) == {2 * number}\n\n\n"
        for number in range(20)
    )
    files = {
        "planbound.toml": f"[judging]\nreuse = false\n{rules}\n",
        "src/calc.py": "def double(number):\n    return 2 * number\n",
        "tests/test_calc.py": f"from calc import double\n\n\n{tests}",
        "pytest.ini": "[pytest]\npythonpath = src\n",
    }
    for name, text in files.items():
        with open(os.path.join(root, name), "w", encoding="utf-8") as file:
            file.write(text)
    prefix = os.path.join(root, ".venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = os.path.join(prefix, "lib", version, "site-packages")
    for package in PACKAGES:
        for part in distribution(package).files or ():
            if ".." not in part.parts and "__pycache__" not in part.parts:
                place = os.path.join(site, str(part))
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.copyfile(str(part.locate()), place)


def judge_once(judging: JudgingContext, found: tuple[Case, ...], setting: Setting) -> None:
    """Judge the contract; it has to pass."""
    (verdict,) = judge(judging, found, setting)
    assert verdict.kind.value == "pass", verdict


def judge_changed(
    root: str, judging: JudgingContext, found: tuple[Case, ...], setting: Setting
) -> None:
    """Change one file, and judge the contract."""
    with open(os.path.join(root, "part0/unit0/module_0.py"), "wb") as file:
        file.write(os.urandom(100))
    judge_once(judging, found, setting)


def compare(frozen: Frozen, setting: Setting) -> None:
    """Find the judges and what changed."""
    judges = judge_paths([read_script("true")], [], frozen.manifest.files(), lambda _: None)
    protect(changes(frozen.manifest, frozen.manifest), judges, setting.scope)


def report(values: dict[str, float]) -> int:
    """Print the numbers and what is over its limit."""
    broken = 0
    for count, limit in LIMITS.items():
        bash, whole = values[f"bash {count}"], values[f"judge {count}"]
        cell, hashing = values[f"cell {count}"], values[f"hash {count}"]
        broken += _line(f"judging adds, {count:,} files", whole - bash, limit)
        for name, most in CELL_LIMITS.items():
            broken += _line(f"  a {name} over a bare spawn", values[f"{name} {count}"] - bash, most)
        print(f"    bare bash {bash * 1000:.1f} ms, judge {whole * 1000:.1f} ms")
        print(f"    of it: look at the tree, twice {2 * hashing * 1000:.1f} ms")
        print(f"           the cell             {cell * 1000:.1f} ms")
        print(
            f"           judges and scope     {values[f'judges and scope {count}'] * 1000:.1f} ms"
        )
        rest = whole - cell - 2 * hashing - values[f"judges and scope {count}"]
        print(
            f"           the rest             {rest * 1000:.1f} ms (bash's syntax check, reading)"
        )
    bare = values["pytest"]
    print(f"20 tests of pytest by themselves   {bare * 1000:7.1f} ms")
    for name in WAYS:
        print(f"  {name:32} {values[name] * 1000:7.1f} ms, {values[name] / bare:.1f} x")
    return 1 if broken else 0


def _line(name: str, value: float, limit: float) -> bool:
    over = value > limit
    print(f"{name:34} {value * 1000:7.1f} ms (limit {limit * 1000:.0f}){'  OVER' if over else ''}")
    return over


if __name__ == "__main__":
    sys.exit(main())
