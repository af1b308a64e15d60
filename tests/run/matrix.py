"""The crash matrix: a run that is killed at every append, and goes on until it is done.

`python -m tests.run.matrix` does every point on SQLite; with `--all` on PostgreSQL, too.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo

from planbound.plan.parse import parse
from planbound.workspace.state_home import find_state_home
from tests.journal.child import Place
from tests.program import Outcome
from tests.run.bench import Bench, Log, Step, read_log

APPENDS = {"run": 18, "answer": 1, "resume": 5}
"""How often each command appends; tests check that it is exactly so often."""
_UNTIL_TOLD = 'if told "{words}"; then echo right > {file}; else echo wrong > {file}; fi'
STEPS = (
    Step("Make a"),
    Step("Make b", work=_UNTIL_TOLD.format(words="did not pass", file="src/b")),
    Step("Make c", work="sleep 0.1; echo right > src/c", depends="2"),
    Step("Make d", work="sleep 0.1; echo right > src/d", depends="2"),
    Step(
        "Make e",
        work=_UNTIL_TOLD.format(words="A person says", file="src/e"),
        depends="3, 4",
        fields="**on_fail:** escalate",
    ),
)
AFTER = ("grep -qx right src/a && grep -qx right src/d", "test -s src/e")
FOLD: Mapping[str, Any] = {
    "ended": "done",
    "steps": [("1", "done", "pass")]
    + [(number, "done", "pass") for number in ("2", "3", "4", "5")],
    "postconditions": [(1, "pass"), (2, "pass")],
    "counts": {"completed": 5, "failed": 0, "skipped": 0, "waived": 0, "postconditions": 2},
}
"""What a run comes to that nobody disturbs."""
GUIDANCE = ("--guidance", "write the right thing")
MOST_CHANGES = 250
"""About so often a run in cells makes, moves or removes something."""
PASSING = ("cells", "cells-probe", "copies", "homes", "scratch")
"""The folders of the state home in which nothing is when nobody works."""
RUN = ("run", "PLAN", "--jobs", "2")
_MOST_RUNS = 12


@dataclass(frozen=True)
class Point:
    """Where a process is killed."""

    command: str
    """`run`, the `answer` to what it asks, or the `resume` after that."""
    when: str
    append: int

    def __str__(self) -> str:
        return f"{self.command}-{self.when}-{self.append}"


def points() -> list[Point]:
    """Return every point."""
    return [
        Point(command, when, append)
        for command, most in APPENDS.items()
        for append in range(1, most + 1)
        for when in ("before", "after")
    ]


class Rig:
    """A plan that can be had again and again, at the same place, as it is before a command."""

    def __init__(self, folder: Path, server: str | None = None) -> None:
        self.server = server
        self._name = f"crash_{uuid4().hex[:12]}"
        self._live = folder / "live"
        self._kept = folder
        self._live.mkdir()
        self._address: str | None = None
        if server is not None:
            self._address = self._database(f"{self._name}_live")
        self._bench().prepare(*STEPS, after=AFTER)
        self._keep("run")
        self._drop()

    def _database(self, name: str, template: str = "template0") -> str:
        assert self.server is not None
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return make_conninfo(self.server, dbname=name)

    def _bench(self) -> Bench:
        bench = Bench(self._live)
        if self._address is not None:
            bench.extra["PLANBOUND_DATABASE_URL"] = self._address
        return bench

    def approved(self) -> contextlib.AbstractContextManager[Bench]:
        """Give the plan as it is right after its approval."""
        return self.before("run")

    @contextlib.contextmanager
    def before(self, command: str) -> Iterator[Bench]:
        """Give the plan as it is when a command is called, and nobody has disturbed any before."""
        self._reach(command)
        shutil.rmtree(self._live)
        shutil.copytree(self._kept / command, self._live, symlinks=True)
        if self.server is not None:
            self._address = self._database(f"{self._name}_live", f"{self._name}_{command}")
        try:
            yield self._bench()
        finally:
            self._drop()

    def _reach(self, command: str) -> None:
        """Call what comes before a command, once."""
        if (self._kept / command).exists():
            return
        earlier = list(APPENDS)[list(APPENDS).index(command) - 1]
        with self.before(earlier) as bench:
            assert call(bench, earlier).code in {0, 4}
            self._keep(command)

    def _keep(self, command: str) -> None:
        shutil.copytree(self._live, self._kept / command, symlinks=True)
        if self.server is not None:
            self._database(f"{self._name}_{command}", f"{self._name}_live")

    def _drop(self) -> None:
        if self.server is not None:
            with psycopg.connect(self.server, autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {self._name}_live WITH (FORCE)")

    def place(self) -> Place:
        """Return where the journal is."""
        if self._address is not None:
            bench = self._bench()
            home = find_state_home(
                str(bench.workspace), given=None, environment=bench.environment()
            )
            return Place("postgres", self._address, home.project)
        return Place("sqlite", str(self._live / "state" / "journal.sqlite"))


class Ordeal:
    """One run that is disturbed, and what must be so afterwards."""

    def __init__(self, rig: Rig, bench: Bench) -> None:
        self.rig = rig
        self.bench = bench
        self.known: list[tuple[int, str]] = []
        """What is in the journal for good, by number and id."""

    def to_the_end(self) -> None:
        """Run until it is done; answer what it asks."""
        for _ in range(_MOST_RUNS):
            done = self.bench.run("run", "PLAN", "--jobs", "2")
            if done.code == 4:
                self.bench.answer("retry", *GUIDANCE)
            else:
                assert done.code in {0, 3}, f"exit {done.code}\n{done.out}\n{done.err}"
                return
        raise AssertionError(f"not done after {_MOST_RUNS} runs")

    def was_killed(self) -> None:
        """Look at what a process left that was killed a moment ago."""
        self.bench.ends_all()
        self.keeps()

    def keeps(self) -> None:
        """Check that the journal holds everything that it held before."""
        now = [(event.seq, event.id) for event in self.log()]
        assert now[: len(self.known)] == self.known, "events are lost"
        self.known = now

    def log(self) -> Log:
        """Return the journal; without a process, for it is done often."""
        journal = self.rig.place().open()
        try:
            return read_log(journal)
        finally:
            journal.close()

    def is_sound(self) -> None:
        """Check everything that must be so when the run is done."""
        bench = self.bench
        self.keeps()
        log, status = self.log(), bench.status()
        assert fold_of(log, status) == FOLD
        assert log.last.kind == "EXECUTION_COMPLETE"
        assert len(log.of("EXECUTION_COMPLETE")) == 1
        assert bench.verifies(), "the chain of the journal is broken"
        check_dispatches(log)
        check_recoveries(log)
        plan = parse(bench.plan_file.read_bytes(), path="PLAN.md")
        assert plan.status is not None
        assert plan.status.value == "done"
        marks = [step.status.value.value if step.status else None for step in plan.steps]
        assert marks == [step["status"] for step in status["steps"]]
        assert {bench.read(step.file) for step in STEPS} == {"right\n"}
        assert left_in(bench) == [], "something is left of the run"
        bench.ends_all()


def left_in(bench: Bench) -> list[str]:
    """Return what lies in the state home, and should not when nobody works."""
    state = bench.folder / "state"
    return [str(path.relative_to(state)) for name in PASSING for path in (state / name).glob("*")]


def fold_of(log: Log, status: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run came to."""
    end = log.of("EXECUTION_COMPLETE")[-1]
    return {
        "ended": status["ended"],
        "steps": [(each["number"], each["status"], each["verdict"]) for each in status["steps"]],
        "postconditions": [(each["number"], each["verdict"]) for each in status["postconditions"]],
        "counts": {name: end[name] for name in FOLD["counts"]},
    }


def check_dispatches(log: Log) -> None:
    """Check that no step was begun after it was proved, and none without an approval."""
    proved: set[str | None] = set()
    approved = False
    for event in log:
        approved = approved or event.kind == "GATE_APPROVED"
        if event.kind == "TASK_STARTED":
            assert approved, "a step began before the approval"
            assert event.task not in proved, f"`{event.task}` was proved, and dispatched again"
        elif event.kind == "TASK_COMPLETED":
            assert event.task not in proved, f"`{event.task}` was completed twice"
            proved.add(event.task)


def check_recoveries(log: Log) -> None:
    """Check that of every recovery it is told once what came of it."""
    told = [event["recovery"] for event in log.of("RECOVERY_OUTCOME")]
    assert sorted(told) == sorted(event.id for event in log.of("RECOVERY_APPLIED"))


def survive(rig: Rig, point: Point) -> None:
    """Kill a process at a point, go on, and look whether all is well."""
    with rig.before(point.command) as bench:
        ordeal = Ordeal(rig, bench)
        ordeal.keeps()
        killed = call(bench, point.command, PLANBOUND_FAILPOINT=f"{point.when}:{point.append}")
        assert killed.code == -signal.SIGKILL, (
            f"was not killed: does {point.command} append as often as `APPENDS` says?\n"
            f"exit {killed.code}\n{killed.out}{killed.err}"
        )
        ordeal.was_killed()
        ordeal.to_the_end()
        ordeal.is_sound()


def call(bench: Bench, command: str, **extra: str) -> Outcome:
    """Call one of the commands that may be killed."""
    words: tuple[str, ...] = ("PLAN", "--jobs", "2")
    if command == "answer":
        words = (bench.question()["id"], "retry", "--as", "tester", *GUIDANCE)
    return _process(bench, extra, command, *words)


def _process(bench: Bench, extra: dict[str, str], *arguments: str) -> Outcome:
    return bench.run(
        *arguments, stdin=b"", cwd=None, obeys_permissions=False, process=False, **extra
    )


def survive_random(rig: Rig, seed: int, kills: int = 3) -> None:
    """Kill runs at some places, the same ones for the same seed; go on, and look at what is left.

    A place is an append, or a change of the file system: in the middle of a copy, for example.
    """
    chance = random.Random(seed)  # a test's, not a secret's
    with rig.approved() as bench:
        ordeal = Ordeal(rig, bench)
        for _ in range(kills):
            done = _process(bench, {"PLANBOUND_FAILPOINT": _place(chance)}, *RUN)
            if done.code == -signal.SIGKILL:
                ordeal.was_killed()
            elif done.code == 4:
                bench.answer("retry", *GUIDANCE)
            else:
                assert done.code in {0, 3}, done.err
                break
        ordeal.to_the_end()
        ordeal.is_sound()


def _place(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return f"{chance.choice(('before', 'after'))}:{chance.randint(1, 18)}"
    return f"change:{chance.randint(1, MOST_CHANGES)}"


def main() -> int:
    """Do the whole matrix."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="on PostgreSQL, too")
    parser.add_argument(
        "--seeds",
        type=int,
        default=20,
        help="how many runs are killed at places that chance chooses",
    )
    arguments = parser.parse_args()
    failed = 0
    with contextlib.ExitStack() as stack:
        servers: list[str | None] = [None]
        if arguments.all:
            servers.append(stack.enter_context(_server()))
        for server in servers:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crash-")))
            failed += _all_points(Rig(folder, server), arguments.seeds)
    return 1 if failed else 0


@contextlib.contextmanager
def _server() -> Iterator[str]:
    from tests.journal.conftest import serve_postgres  # noqa: PLC0415 - only with --all

    with serve_postgres() as address:
        yield address


def _all_points(rig: Rig, seeds: int) -> int:
    where = "SQLite" if rig.server is None else "PostgreSQL"
    failed = 0
    for point in points():
        failed += _reported(f"{where}: {point}", partial(survive, rig, point))
    for seed in range(seeds):
        failed += _reported(f"{where}: chance {seed}", partial(survive_random, rig, seed))
    return failed


def _reported(name: str, check: Callable[[], None]) -> int:
    try:
        check()
    except AssertionError as error:
        print(f"FAILED {name}: {error}", flush=True)
        return 1
    print(f"ok {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
