"""Judging a contract, beside a bare `bash -c` of the same command.

Limits: on a repository of 10,000 files the whole of freeze, scope, cell, contract `true` and
re-hash adds at most 0.5 seconds; on one of 100 files at most 60 ms; a cell starts in at most 40 ms
over a bare spawn. Where the time goes is printed.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
from functools import partial

from benchmarks.manifest import generate
from benchmarks.measure import record, side_by_side
from planbound.engine.judging.case import Case, cases, plan_scope
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.judges import judge_paths
from planbound.engine.judging.protection import protect
from planbound.engine.manifest import changes
from planbound.plan.command import read_script
from planbound.plan.parse import parse
from planbound.ports.cell import Request
from planbound.usecases.baseline import freeze
from planbound.usecases.bench import Bench
from planbound.usecases.judge import Setting, judge
from planbound.wiring.judging import make_bench
from planbound.wiring.parts import Parts

LIMITS = {100: 0.060, 10_000: 0.500}
CELL_LIMIT = 0.040
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
true
```
"""


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
    record("judge", values)
    return report(values)


def measure(root: str, count: int, rounds: int) -> dict[str, float]:
    """Return the seconds of everything on a tree of so many files."""
    generate(root, count, 5_500)
    os.makedirs(os.path.join(root, ".harness"))
    os.sync()  # or the disk is still busy with what was written
    bench = make_bench(Parts(workspace=root))
    plan = parse(PLAN.encode(), path="PLAN.md")
    found = tuple(cases(plan))
    tree = freeze(bench.tree, bench.vault, bench.rules)
    frozen = Frozen("benchmark", tree.manifest, "", "", {})
    setting = Setting(frozen=frozen, scope=plan_scope(plan))
    request = Request(tuple(BASH), root, bench.environment, masked=bench.masked)
    return {
        f"{name} {count}": seconds
        for name, seconds in side_by_side(
            {
                "bash": partial(subprocess.run, BASH, check=True, stdin=subprocess.DEVNULL),
                "judge": partial(judge_once, bench, found, setting),
                "cell": partial(bench.cell.run, request),
                "hash": partial(bench.tree.manifest, bench.rules),
                "judges and scope": partial(compare, frozen, setting),
            },
            rounds,
        ).items()
    }


def judge_once(bench: Bench, found: tuple[Case, ...], setting: Setting) -> None:
    """Judge the contract; it has to pass."""
    (verdict,) = judge(bench, found, setting)
    assert verdict.kind.value == "pass", verdict


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
        broken += _line("  a cell over a bare spawn", cell - bash, CELL_LIMIT)
        print(f"    bare bash {bash * 1000:.1f} ms, judge {whole * 1000:.1f} ms")
        print(f"    of it: hash the tree, twice {2 * hashing * 1000:.1f} ms")
        print(f"           the cell             {cell * 1000:.1f} ms")
        print(
            f"           judges and scope     {values[f'judges and scope {count}'] * 1000:.1f} ms"
        )
        rest = whole - cell - 2 * hashing - values[f"judges and scope {count}"]
        print(
            f"           the rest             {rest * 1000:.1f} ms (bash's syntax check, reading)"
        )
    return 1 if broken else 0


def _line(name: str, value: float, limit: float) -> bool:
    over = value > limit
    print(f"{name:34} {value * 1000:7.1f} ms (limit {limit * 1000:.0f}){'  OVER' if over else ''}")
    return over


if __name__ == "__main__":
    sys.exit(main())
