"""`planbound run`, beside others that run steps: each step is two processes that do nothing.

Ours are durable, frozen and judged in a cell, as users have them. What the engine itself costs is
measured beside it: with a cell that runs nothing (`planbound.testing`), in a workspace of two files
and no repository; and in a repository, which is kept safe from every agent. Goals: a step costs the
engine 2 ms, and a plan of 5,000 steps of which 4,999 are settled is resumed in 0.5 seconds, after a
kill. Limits: a step of 5,000 costs the engine at most 1.3 times one of 100; the first agent is
called at most 250 ms after the start; that resume takes under 1.5 seconds; 8 steps of a second each
run together in under 3 seconds.

Times of peers are their own: from the beginning of the first step to the end of the last. Ours are
of whole processes: the difference between long and short plans, so start-up is not in them, and
everything else is.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from benchmarks.contest import (
    MAKE,
    PEERS,
    PLAIN,
    Lap,
    NotInstalledError,
    interpreter,
    run_make,
    run_peer,
)
from benchmarks.measure import outcome, record
from benchmarks.process import Launch, clean_environment, launch
from benchmarks.rig import CELL, DBOS, Rig, plan_text

INLINE, ON_DBOS = "planbound, inline", "planbound, dbos"
OURS = (INLINE, ON_DBOS)
FLAT = 1.3
START = 0.250
ENGINE_GOAL = 0.002
RESUME, RESUME_GOAL = 1.5, 0.5
PARALLEL = 3.0
SHORT = 10


class Size(NamedTuple):
    """How much is measured."""

    rounds: int
    steps: int
    lengths: tuple[int, ...]


FULL = Size(rounds=4, steps=100, lengths=(10, 100, 1000, 5000))
QUICK = Size(rounds=1, steps=30, lengths=(10, 50, 200))

Values = dict[str, float]


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short plans, once; not recorded")
    parser.add_argument("--peers", action="store_true", help="only the peers; not recorded")
    arguments = parser.parse_args()
    size = QUICK if arguments.quick else FULL
    values = contest(size, ours=not arguments.peers)
    show_contest(values)
    if arguments.peers:
        return 0
    values |= lengths(size) | waiting(size)
    if size is FULL:
        record("run", values)
    return report(values, size)


# -- side by side ------------------------------------------------------------------------------


def contest(size: Size, *, ours: bool) -> Values:
    """Return what every contestant takes, measured in turns so that noise hits all alike."""
    with tempfile.TemporaryDirectory(prefix="planbound-bench-") as folder:
        contestants: dict[str, Callable[[int], Lap]] = {MAKE: partial(run_make, folder)}
        for peer in PEERS:
            try:
                python = interpreter(peer)
            except NotInstalledError as error:
                print(f"{peer.name}: not installed ({error})", file=sys.stderr)
            else:
                contestants[peer.name] = partial(run_peer, peer, python, folder)
        if ours:
            if imports_dbos(CELL):
                sys.exit("the motor `inline` imports dbos, so its start is not what was promised")
            contestants[INLINE] = partial(run_ours, CELL)
            if imports_dbos(DBOS):
                contestants[ON_DBOS] = partial(run_ours, DBOS)
        laps = in_turns(contestants, size)
    return {
        f"{name} {field}": statistics.median(getattr(lap, field) for lap in found)
        for name, found in laps.items()
        for field in Lap._fields
    }


def in_turns(contestants: dict[str, Callable[[int], Lap]], size: Size) -> dict[str, list[Lap]]:
    """Return the laps of everybody; a peer that breaks is left out."""
    laps: dict[str, list[Lap]] = {name: [] for name in contestants}
    for steps in (SHORT + 1, *[size.steps] * size.rounds):  # some make their database first
        for name in list(laps):
            try:
                lap = contestants[name](steps)
            except SystemExit as error:
                if name in OURS:
                    raise
                print(f"{name}: has no number, because\n{error}", file=sys.stderr)
                del laps[name]
            else:
                laps[name] += [lap] if steps == size.steps else []
    return laps


def imports_dbos(settings: str) -> bool:
    """Say whether DBOS is what runs a plan with these settings; nothing else imports it."""
    with Rig(settings, plan_text(SHORT)) as rig:
        return "dbos" in rig.imports()


def run_ours(settings: str, steps: int) -> Lap:
    """Run one plan for its start, and two for what a step costs."""
    begin = "test -e first || date +%s%N > first"
    with Rig(settings, plan_text(SHORT), coder=begin) as rig:
        start = rig.stamp("first", rig.run())
    short, long = whole(settings, SHORT), whole(settings, steps)
    return Lap((long.seconds - short.seconds) / (steps - SHORT), start, long.megabytes)


def whole(settings: str, steps: int) -> Launch:
    """Run a plan of so many steps from its approval to its end."""
    with Rig(settings, plan_text(steps)) as rig:
        return rig.run()


# -- ours alone --------------------------------------------------------------------------------


def lengths(size: Size) -> Values:
    """Return what a step costs the engine itself, in plans of each length, and its memory."""
    walls = {
        steps: statistics.median(
            engine(steps).seconds for _ in range(size.rounds if steps <= 2 * size.steps else 1)
        )
        for steps in size.lengths[:-1]
    }
    longest = engine(size.lengths[-1])
    walls[size.lengths[-1]] = longest.seconds
    kept = [engine(steps, is_repository=True).seconds for steps in size.lengths[:2]]
    return {
        f"step of {long}": (walls[long] - walls[short]) / (long - short)
        for short, long in pairwise(size.lengths)
    } | {
        "step in a repository": (kept[1] - kept[0]) / (size.lengths[1] - size.lengths[0]),
        "engine megabytes": longest.megabytes,
    }


def engine(steps: int, *, is_repository: bool = False) -> Launch:
    """Run a plan of so many steps in a cell that runs nothing."""
    with Rig(CELL, plan_text(steps), is_repository=is_repository) as rig:
        return rig.engine(steps)


def waiting(size: Size) -> Values:
    """Return what a user waits for: a resume after a kill, and steps that run together."""
    longest = size.lengths[-1]
    with Rig(CELL, plan_text(longest)) as rig:
        rig.engine_killed_after(longest - 1)
        resume = rig.run("resume")
        floor = launch([sys.executable, "-c", "pass"], rig.root, clean_environment(rig.root))
    with Rig(CELL, plan_text(8, apart=True), coder="sleep 1") as rig:
        parallel = rig.run("run", "--jobs", "8").seconds
    return {
        "resume": resume.seconds,
        "resume megabytes": resume.megabytes,
        "resume floor": floor.seconds,
        "resume steps": longest,
        "parallel": parallel,
    }


# -- telling -----------------------------------------------------------------------------------


def show_contest(values: Values) -> None:
    """Print what every contestant takes, the fastest first."""
    plain = values[f"{PLAIN.name} step"]
    print(f"{'':28}{'ms a step':>10}{'x plain':>9}{'over plain':>12}{'start, s':>10}{'MB':>7}")
    names = {name.removesuffix(" megabytes") for name in values if name.endswith(" megabytes")}
    for name in sorted(names, key=lambda name: values[f"{name} step"]):
        step = values[f"{name} step"]
        print(
            f"{name:28}{step * 1000:10.2f}{step / plain:9.2f}{(step - plain) * 1000:12.2f}"
            f"{values[f'{name} start']:10.3f}{values[f'{name} megabytes']:7.0f}"
        )
    missing = {peer.name for peer in PEERS} - names
    for name in sorted(missing):
        print(f"{name:28}not installed")


def report(values: Values, size: Size) -> int:
    """Print the numbers that have a limit, and which are over it."""
    broken = 0
    if f"{ON_DBOS} step" not in values:
        print(f"{ON_DBOS}: another motor ran, so there is nothing to measure  BROKEN")
        broken += 1
    broken += _line("start to first dispatch, ms", values[f"{INLINE} start"] * 1000, START * 1000)
    print(
        f"  a plain loop over two processes, a step: {values[f'{PLAIN.name} step'] * 1000:.2f} ms"
    )
    for long in size.lengths[1:]:
        _aim(f"  the engine itself, a step of {long:,}", values[f"step of {long}"], ENGINE_GOAL)
    print(f"  the same in a repository: {values['step in a repository'] * 1000:.2f} ms")
    print(f"  memory of a run of {size.lengths[-1]:,}: {values['engine megabytes']:.0f} MB")
    print(f"  python -c pass: {values['resume floor'] * 1000:.0f} ms")
    _aim(f"  resume of {size.lengths[-1]:,} steps", values["resume"], RESUME_GOAL)
    first, last = (values[f"step of {size.lengths[at]}"] for at in (1, -1))
    broken += _line(
        f"a step of {size.lengths[-1]:,} to one of {size.lengths[1]}", last / first, FLAT
    )
    broken += _line(f"resume of {size.lengths[-1]:,} steps, s", values["resume"], RESUME)
    broken += _line("8 steps of 1 s together, s", values["parallel"], PARALLEL)
    return 1 if broken else 0


def _aim(name: str, seconds: float, goal: float) -> None:
    print(f"{name}: {seconds * 1000:.2f} ms (goal {goal * 1000:g}, {outcome(seconds, goal)})")


def _line(name: str, value: float, limit: float) -> bool:
    over = value > limit
    print(f"{name:50} {value:8.2f} (limit {limit:g}){'  OVER' if over else ''}")
    return over


if __name__ == "__main__":
    sys.exit(main())
