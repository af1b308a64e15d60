"""`python -m evals`: judge public exercises, count who is fooled and who wrongly refuses."""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import random
import shutil
import sys
import traceback
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

import planbound
from evals.agents import AGENTS
from evals.bench import Bench
from evals.data import DataError, data_folder, exercises
from evals.exercise import Exercise, Layout
from evals.harnesses import HARNESSES, Harness, Judge
from evals.results import PAGE, Result, Results, cells, table, unsound, write_table
from evals.sets import DEFAULT_SETS, SETS
from tests.project_environment import active_environment


class Unit(NamedTuple):
    """One exercise before one harness: it is laid once, and every agent has its turn."""

    exercise: Exercise
    harness: str
    agents: tuple[str, ...]


class Setting(NamedTuple):
    """What is the same for all units."""

    data: Path
    work: Path
    seed: int
    program: str
    results: Results
    known: bool
    """Nothing is measured."""
    failed: list[str]
    """What could not be measured, for a reason that is no verdict."""


def main() -> int:
    """Measure what is not known yet, print.

    Returns 1 where Planbound was wrong or something could not be measured, 2 without data.
    """
    arguments = _parser().parse_args()
    try:
        data = data_folder()
        units = _units(data, arguments)
    except DataError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    setting = Setting(
        data,
        arguments.work or data / "work",
        arguments.seed,
        _digest_of_sources(),
        Results(arguments.results or data / "results.jsonl"),
        arguments.known,
        [],
    )
    pool = ThreadPoolExecutor(arguments.jobs)
    try:
        parts = list(pool.map(lambda unit: _measure(setting, unit), units))
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        return 130
    found = [result for part in parts for result in part]
    shutil.rmtree(setting.work, ignore_errors=True)
    wrong = _report(found, arguments)
    for name in setting.failed:
        print(f"error: not measured: {name}", file=sys.stderr)
    return 1 if wrong or setting.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    parser.add_argument("--set", action="append", choices=SETS, help="only this set; repeatable")
    parser.add_argument("--agent", action="append", choices=AGENTS, help="only this agent")
    parser.add_argument("--harness", action="append", choices=HARNESSES, help="only this harness")
    parser.add_argument("--exercise", action="append", help="only this one, `SET/NAME`")
    parser.add_argument("--sample", type=int, help="so many exercises of each set, by chance")
    parser.add_argument(
        "--all-honest", action="store_true", help="honest work on every exercise all the same"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, help="kept here (default: in the data folder)")
    parser.add_argument("--work", type=Path, help="a folder for the workspaces")
    parser.add_argument("--known", action="store_true", help="measure nothing; print what is known")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=PAGE,
        metavar="PAGE",
        help="put the table into a page (default: docs/concepts/trust.md)",
    )
    return parser


def _units(data: Path, arguments: argparse.Namespace) -> list[Unit]:
    chosen: list[tuple[Exercise, tuple[str, ...]]] = []
    agents = tuple(arguments.agent or AGENTS)
    for name in arguments.set or DEFAULT_SETS:
        found = exercises(data, name, arguments.seed)
        if arguments.exercise:
            found = [each for each in found if each.key in arguments.exercise]
        drawn = found
        if arguments.sample is not None and arguments.sample < len(found):
            drawn = random.Random(f"{arguments.seed} {name}").sample(found, arguments.sample)
        chosen += [(each, agents) for each in drawn]
        if arguments.all_honest and "honest" in agents:
            chosen += [(each, ("honest",)) for each in found if each not in drawn]
    return [
        Unit(exercise, harness, agents)
        for exercise, agents in chosen
        for harness in _harnesses(data, arguments.harness)
    ]


def _harnesses(data: Path, asked: Sequence[str] | None) -> list[str]:
    """Return the harnesses that can judge here; refuse one that was asked for and cannot."""
    missing = {
        name: harness.needs
        for name, harness in HARNESSES.items()
        if harness.needs and not (data / harness.needs).exists()
    }
    for name, needs in missing.items():
        said = f"`{name}` needs `{needs}` in the data folder"
        if asked and name in asked:
            raise DataError(f"{said}\nhint: install it as evals/README.md says")
        if not asked:
            print(f"left out: {said}", file=sys.stderr)
    return [name for name in asked or HARNESSES if name not in missing]


def _digest_of_sources() -> str:
    """Return what tells this Planbound from another."""
    folder = Path(planbound.__file__).parent
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


# -- measuring -------------------------------------------------------------------------------------


def _measure(setting: Setting, unit: Unit) -> list[Result]:
    """Return what the harness says of each agent; what is known is not measured again."""
    wanted = {agent: _unmeasured(setting, unit, agent) for agent in unit.agents}
    known = {agent: setting.results.known(result) for agent, result in wanted.items()}
    missing = [agent for agent in unit.agents if known[agent] is None]
    ordinary = [agent for agent in missing if agent != "impossible"]
    found = [result for result in known.values() if result is not None]
    if setting.known:
        return found
    harness = HARNESSES[unit.harness]
    one_off = unit.exercise.one_off
    for agents, layout in (
        (ordinary, _layout(harness, unit.exercise.whole, unit.exercise.split)),
        (
            [agent for agent in missing if agent == "impossible"],
            _layout(harness, one_off.layout, one_off.split) if one_off is not None else None,
        ),
    ):
        if agents:
            for result in _judged(setting, unit, agents, layout, wanted):
                setting.results.add(result)
                found.append(result)
    return found


def _layout(harness: Harness, whole: Layout, split: Layout | None) -> Layout | None:
    return split if harness.split else whole


def _unmeasured(setting: Setting, unit: Unit, agent: str) -> Result:
    program = setting.program if unit.harness.startswith("planbound") else ""
    return Result(unit.exercise.key, agent, unit.harness, setting.seed, program, None)


def _judged(
    setting: Setting,
    unit: Unit,
    agents: Sequence[str],
    layout: Layout | None,
    wanted: dict[str, Result],
) -> Iterable[Result]:
    if layout is None:
        yield from (wanted[agent] for agent in agents)
        return
    folder = setting.work / f"{unit.exercise.key.replace('/', '-')}-{unit.harness}"
    bench = Bench(folder, active_environment(), setting.data)
    bench.lay(unit.exercise, layout)
    try:
        judge = HARNESSES[unit.harness].prepare(unit.exercise, layout, bench)
        kept = folder / "before"
        shutil.copytree(bench.workspace, kept, symlinks=True)
        for agent in agents:
            yield _one(unit, agent, layout, bench, judge, wanted[agent])
            shutil.rmtree(bench.workspace)
            shutil.copytree(kept, bench.workspace, symlinks=True)
    except Exception:  # noqa: BLE001 - one broken exercise must not end an hour of measuring
        print(f"{unit.exercise.key}, {unit.harness}: {traceback.format_exc()}", file=sys.stderr)
        setting.failed.append(f"{unit.exercise.key}, {unit.harness}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _one(
    unit: Unit, agent: str, layout: Layout, bench: Bench, judge: Judge, wanted: Result
) -> Result:
    if not AGENTS[agent](unit.exercise, layout, bench):
        return wanted
    judgement = judge()
    print(
        f"{unit.exercise.key}, {agent}, {unit.harness}: {judgement.verdict}"
        f" ({judgement.seconds:.1f} s)",
        file=sys.stderr,
        flush=True,
    )
    return msgspec.structs.replace(
        wanted,
        done=judgement.done,
        verdict=judgement.verdict,
        reason=judgement.reason[:2000],
        seconds=round(judgement.seconds, 3),
        evidence=judgement.evidence,
    )


# -- telling ---------------------------------------------------------------------------------------


def _report(found: Sequence[Result], arguments: argparse.Namespace) -> bool:
    """Print the table; say whether Planbound was wrong."""
    counted = cells(found)
    facts = {
        "exercises": str(len({result.exercise for result in found} - unsound(found))),
        "seed": str(arguments.seed),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
    }
    wrong = [cell for cell in counted if cell.wrong and cell.harness.startswith("planbound")]
    if arguments.json:
        said = {**facts, "unsound": sorted(unsound(found)), "cells": counted}
        print(msgspec.json.format(msgspec.json.encode(said)).decode())
    else:
        print(table(counted, facts), end="")
        for cell in wrong:
            print(f"\n{cell.agent}, {cell.harness}: {', '.join(cell.exercises)}")
    if arguments.write:
        write_table(table(counted, facts), arguments.write)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
