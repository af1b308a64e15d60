"""What runs beside a contract changes no verdict, and is over when the contract does not pass."""

from __future__ import annotations

import fcntl
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from planbound.agents.control import ControlledCell, StopSignal
from planbound.cells.cell import Captured, Cell, CommandEnding, Outcome, Overseer, Request, Stage
from planbound.cells.isolation import Isolation
from planbound.cells.stages import Stages
from planbound.journal.event import VerdictKind
from planbound.judging import beside
from planbound.judging.case import Case, Scope, cases
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.contract import Setting
from planbound.judging.judge import judge, observe
from planbound.judging.reference import Frozen, freeze
from planbound.judging.together import judge_together
from planbound.judging.verdict import CanaryRun, Verdict
from planbound.plan.parse import parse
from planbound.script.runners.python import steadily
from planbound.testing.cell import ScriptedCell
from planbound.workspace.context import Context
from tests.needs import need
from tests.project_environment import active_environment
from tests.tables import first_always

PATIENCE = 60.0
PLAN = """\
---
type: plan
status: draft
owner: t
touches: ["src/**"]
---

# Judged

## Steps

{steps}
"""
STEP = """\
### {number}. Step {number}

**target:** coder
**task:** Do what the contract asks for.

**contract:**
```shell
{contract}
```
"""
PYTEST = "python -m pytest -q tests"
TESTS = {
    "tests/test_calc.py": "from calc import add, sub\n\n\n"
    "def test_add():\n    assert add(1, 2) == 3\n    assert sub(2, 1) == 1\n\n\n"
    "def test_sub():\n    assert add(3, 2) == 5\n    assert sub(3, 2) == 1\n\n\n"
    "def test_more():\n    assert add(2, 2) == 4\n",
    "conftest.py": "",
}
RIGHT = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"
BLIND = (
    "class Same:\n    def __eq__(self, other):\n        return True\n\n    __hash__ = None\n\n\n"
    "def add(a, b):\n    return Same()\n\n\nsub = add\n"
)
# It ends the run behind an equality that holds: a run that stops there would not see it.
LEAVES = (
    "import os\nimport sys\n\n\ndef add(a, b):\n    return a + b\n\n\n"
    "def sub(a, b):\n    sys.stdout.write('..\\n2 passed in 0.01s\\n')\n    sys.stdout.flush()\n"
    "    os._exit(0)\n"
)
# It skips what it cannot do, behind an equality that holds.
SKIPS = (
    "import unittest\n\n\ndef add(a, b):\n    return a + b\n\n\n"
    "def sub(a, b):\n    raise unittest.SkipTest('not now')\n"
)
NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}',
    "calc.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { add } = require('./calc.js');\n"
    "test('adds', () => { assert.strictEqual(add(1, 2), 3); });\n",
}


PATCHED = """\
const assert = require('node:assert');
assert.strictEqual = () => {};
exports.add = (a, b) => 0;
"""


def made(root: Path, files: Mapping[str, str]) -> JudgingContext:
    for name, text in files.items():
        (root / "w" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "w" / name).write_text(text)
    (root / "w" / ".harness").mkdir(parents=True)
    return judging_context(Context(workspace=str(root / "w"), state=str(root / "state")))


def steps(*contracts: str) -> list[Case]:
    text = "\n".join(
        STEP.format(number=number, contract=contract)
        for number, contract in enumerate(contracts, 1)
    )
    return list(cases(parse(PLAN.format(steps=text).encode(), path="PLAN.md")))


def with_jobs(judging: JudgingContext, jobs: int) -> JudgingContext:
    if jobs == 1:
        return beside.in_turn(judging)
    rules = replace(judging.configuration.judging, jobs=jobs)
    return judging._replace(configuration=replace(judging.configuration, judging=rules))


def judged(judging: JudgingContext, contract: str) -> Verdict:
    tree = freeze(judging.tree, judging.vault, judging.rules)
    frozen = Frozen("t", tree.manifest, "", "", {})
    (verdict,) = judge(judging, steps(contract), Setting(frozen=frozen, scope=Scope(None)))
    return verdict


def told(verdict: Verdict) -> object:
    """Return what of a verdict must not depend on what ran beside what."""
    return (
        *(verdict.kind, verdict.reason, verdict.canary, verdict.evidence, verdict.short_of),
        *(verdict.mutated, verdict.summary, verdict.notes),
    )


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let companions begin with every contract, however short it is and whatever else runs."""
    monkeypatch.setattr(beside, "_MOMENT", 0.0)
    monkeypatch.setattr(beside, "idle_seconds", time.monotonic)


# -- the same verdict ----------------------------------------------------------------------------


UNNAMED = """\
python -c 'import subprocess as s, sys; sys.exit(s.call([sys.executable, "-m", "py" + "test"]))'
"""
CASES: dict[str, tuple[str, dict[str, str], VerdictKind, CanaryRun]] = {
    "honest": (PYTEST, {"calc.py": RIGHT, **TESTS}, VerdictKind.PASS, CanaryRun.RED),
    "wrong": (
        PYTEST,
        {"calc.py": RIGHT.replace("+", "*"), **TESTS},
        VerdictKind.FAIL,
        CanaryRun.NONE,
    ),
    "equal to everything": (
        PYTEST,
        {"calc.py": BLIND, **TESTS},
        VerdictKind.TAMPERED,
        CanaryRun.RED,
    ),
    "leaves behind an equality": (
        PYTEST,
        {"calc.py": LEAVES, **TESTS},
        VerdictKind.TAMPERED,
        CanaryRun.GREEN,
    ),
    "skips behind an equality": (
        PYTEST,
        {"calc.py": SKIPS, **TESTS},
        VerdictKind.VACUOUS,
        CanaryRun.RED,
    ),
    "behind a script": (
        "sh check.sh",
        {"calc.py": RIGHT, "check.sh": f"{PYTEST}\n", **TESTS},
        VerdictKind.PASS,
        CanaryRun.RED,
    ),
    "leaves behind a script": (
        "sh check.sh",
        {"calc.py": LEAVES, "check.sh": f"{PYTEST}\n", **TESTS},
        VerdictKind.TAMPERED,
        CanaryRun.CUT,
    ),
    "a runner that only the output names": (
        UNNAMED,
        {"calc.py": RIGHT, **TESTS},
        VerdictKind.PASS,
        CanaryRun.RED,
    ),
    "a shell's comparison": (
        'test "$(python say.py)" = 7',
        {"say.py": "print(7)\n"},
        VerdictKind.PASS,
        CanaryRun.NONE,
    ),
}


@pytest.mark.thorough
@pytest.mark.requirement("judging.beside")
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", first_always(list(CASES)))
def test_a_verdict_is_the_same_beside_and_one_after_the_other(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", active_environment())
    contract, files, kind, canary = CASES[name]
    judging = made(tmp_path, files)
    together, alone = (judged(with_jobs(judging, jobs), contract) for jobs in (2, 1))
    assert told(together) == told(alone)
    assert (together.kind, together.canary) == (kind, canary), together


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("product", "kind"),
    first_always(
        [
            ("exports.add = (a, b) => a + b;\n", VerdictKind.PASS),
            ("exports.add = (a, b) => a * b;\n", VerdictKind.FAIL),
            ("process.exit(0);\n", VerdictKind.TAMPERED),
            (PATCHED, VerdictKind.TAMPERED),
        ],
        fields=2,
    ),
)
def test_in_javascript_too(tmp_path: Path, product: str, kind: VerdictKind) -> None:
    need("node", "its tests are run")
    judging = made(tmp_path, {"calc.js": product, **NODE})
    together, alone = (judged(with_jobs(judging, jobs), "node --test") for jobs in (2, 1))
    assert told(together) == told(alone)
    assert together.kind is kind


# What a product can ask the kernel to know which of its runs came first: `first` says so. Each of
# them waits a moment, so that the others come while it holds what it took.
ASKS = {
    "flock": "fcntl.flock(os.open('/usr/bin/join', os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)",
    "flock on a device": "fcntl.flock(os.open('/dev/null', 0), fcntl.LOCK_EX | fcntl.LOCK_NB)",
    "lock": "fcntl.lockf(os.open('/dev/zero', os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)",
    "lock of a description": "fcntl.fcntl(os.open('/dev/full', os.O_RDWR), 37,"
    " struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0))",
}
ASKING = """\
import fcntl, os, struct, time
try:
    {asks}
    first = True
except OSError:
    first = False
time.sleep(0.5)

"""
# Whoever sees another one is the contract's run, or beside it, and passes; alone it fails.
WATCHING = """\
import ctypes, os, time
libc = ctypes.CDLL(None)
os.close(os.open("/usr/bin/comm", os.O_RDONLY))
watch = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(watch, b"/usr/bin/comm", 0x20)
time.sleep(0.5)
try:
    first = len(os.read(watch, 4096)) > 0
except BlockingIOError:
    first = False

"""


def indented(text: str) -> str:
    return "".join(
        f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True)
    )


@pytest.fixture
def by_itself() -> Iterator[None]:
    """Wait until no other test of this machine holds what these products take."""
    with open(Path(tempfile.gettempdir()) / "planbound-test-beside.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.thorough
@pytest.mark.requirement("judging.beside")
@pytest.mark.usefixtures("at_once", "by_itself")
@pytest.mark.parametrize("name", first_always([*ASKS, "watch"]))
def test_a_product_that_asks_whether_it_came_first_gains_nothing(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", active_environment())
    asks = WATCHING if name == "watch" else ASKING.format(asks=ASKS[name])
    otherwise = "def add(a, b):\n    return None\n\n\nsub = add\n" if name == "watch" else RIGHT
    cheats = f"{asks}if first:\n{indented(BLIND)}else:\n{indented(otherwise)}"
    cheat, honest = (
        judged(with_jobs(made(tmp_path / way, {"calc.py": product, **TESTS}), 2), PYTEST)
        for way, product in (("cheat", cheats), ("honest", f"{asks}{RIGHT}"))
    )
    assert cheat.kind is (VerdictKind.FAIL if name == "watch" else VerdictKind.TAMPERED), cheat
    assert (honest.kind, honest.canary) == (VerdictKind.PASS, CanaryRun.RED), honest


LOCKING = """\
import fcntl
import sqlite3


def add(a, b):
    with open("numbers.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with sqlite3.connect("numbers.db") as numbers:
            numbers.execute("create table if not exists seen (n int)")
            numbers.execute("insert into seen values (?)", (a,))
        return a + b


def sub(a, b):
    return a - b
"""


@pytest.mark.thorough
@pytest.mark.usefixtures("at_once")
def test_a_suite_that_locks_files_is_judged_as_one_that_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", active_environment())
    locks, plain = (
        judged(with_jobs(made(tmp_path / name, {"calc.py": text, **TESTS}), 2), PYTEST)
        for name, text in (("locks", LOCKING), ("plain", RIGHT))
    )
    assert told(locks) == told(plain)
    assert (locks.kind, locks.canary) == (VerdictKind.PASS, CanaryRun.RED)


# -- how companions end --------------------------------------------------------------------------


PASSED = Outcome(
    CommandEnding.EXITED,
    exit_code=0,
    stdout=Captured(head=b"2 passed in 0.01s\n", length=18),
)
FAILED = Outcome(CommandEnding.EXITED, exit_code=1)


class StagedCell:
    """Runs nothing: the contract ends as it is told, a companion when it is stopped."""

    name = "staged"
    isolation = Isolation.I2

    def __init__(
        self,
        contract: Callable[[StagedCell], Outcome],
        companion: Callable[[StagedCell, Overseer], Outcome] | None = None,
    ) -> None:
        self._contract = contract
        self._companion = companion or StagedCell.until_stopped
        self.begun = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self.alone: list[Request] = []
        """The contract, and what is run again by itself."""
        self.beside: list[Request] = []

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        if overseer is None:
            self.alone.append(request)
            return self._contract(self)
        self.beside.append(request)
        self.begun.release()
        try:
            return self._companion(self, overseer)
        finally:
            self.ended.release()

    def until_stopped(self, overseer: Overseer) -> Outcome:
        tick = threading.Event()
        for _ in range(int(PATIENCE / 0.01)):
            if reason := overseer.stop():
                return Outcome(CommandEnding.STOPPED, reason=reason)
            tick.wait(0.01)
        raise AssertionError("nobody stopped it")

    def both_begun(self) -> None:
        for _ in range(2):
            assert self.begun.acquire(timeout=PATIENCE)


def staged(tmp_path: Path, cell: Cell) -> JudgingContext:
    judging = made(tmp_path, {"calc.py": RIGHT, **TESTS})
    return with_jobs(judging._replace(cell=cell), 2)


def limited(judging: JudgingContext, seconds: float) -> JudgingContext:
    contracts = replace(judging.configuration.contracts, seconds=seconds)
    return judging._replace(configuration=replace(judging.configuration, contracts=contracts))


def companions_left() -> list[str]:
    names = {"companion", "beside"}
    return [thread.name for thread in threading.enumerate() if thread.name in names]


@pytest.mark.requirement("judging.beside")
@pytest.mark.usefixtures("at_once")
def test_companions_are_stopped_when_the_contract_fails(tmp_path: Path) -> None:
    def fails(cell: StagedCell) -> Outcome:
        cell.both_begun()
        return FAILED

    cell = StagedCell(fails)
    verdict = judged(staged(tmp_path, cell), PYTEST)
    assert verdict.kind is VerdictKind.FAIL
    assert (len(cell.alone), len(cell.beside)) == (1, 2)
    assert not companions_left()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError("broken")])
def test_companions_are_stopped_when_the_contract_is_interrupted(
    tmp_path: Path, error: BaseException
) -> None:
    def breaks(cell: StagedCell) -> Outcome:
        cell.both_begun()
        raise error

    cell = StagedCell(breaks)
    with pytest.raises(type(error)):
        judged(staged(tmp_path, cell), PYTEST)
    assert len(cell.beside) == 2
    assert not companions_left()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    "ending", [CommandEnding.TIMED_OUT, CommandEnding.EXHAUSTED, CommandEnding.SIGNALLED]
)
def test_a_companion_that_lacked_something_is_run_again_by_itself(
    tmp_path: Path, ending: CommandEnding
) -> None:
    outcomes = iter([PASSED])

    def contract(cell: StagedCell) -> Outcome:
        first = next(outcomes, None)
        if first is None:
            assert not companions_left()
            return FAILED
        cell.both_begun()
        return first

    cell = StagedCell(contract, lambda _cell, _overseer: Outcome(ending))
    judged(staged(tmp_path, cell), PYTEST)
    # The contract, then once more with failing tests, and where that is unclear, watched.
    assert len(cell.alone) == 3
    assert {item.path for item in cell.alone[1].lay} - {item.path for item in cell.alone[0].lay}


@pytest.mark.usefixtures("at_once")
def test_a_contract_that_lacked_something_is_run_again_by_itself(tmp_path: Path) -> None:
    outcomes = iter([Outcome(CommandEnding.EXHAUSTED, reason="memory"), FAILED])

    def contract(cell: StagedCell) -> Outcome:
        outcome = next(outcomes)
        if outcome is FAILED:
            assert not companions_left()
        else:
            cell.both_begun()
        return outcome

    cell = StagedCell(contract)
    assert judged(staged(tmp_path, cell), PYTEST).kind is VerdictKind.FAIL
    assert len(cell.alone) == 2


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("who", ["the contract", "a companion"])
def test_where_runs_could_have_met_all_of_them_are_run_again_by_themselves(
    tmp_path: Path, who: str
) -> None:
    meets = PASSED._replace(could_meet=True)

    def contract(cell: StagedCell) -> Outcome:
        if len(cell.alone) == 1:
            cell.both_begun()
            if who == "the contract":
                return meets
            for _ in range(2):
                assert cell.ended.acquire(timeout=PATIENCE)
            return PASSED
        assert not companions_left()
        return PASSED

    def companion(cell: StagedCell, overseer: Overseer) -> Outcome:
        return cell.until_stopped(overseer) if who == "the contract" else meets

    cell = StagedCell(contract, companion)
    judged(staged(tmp_path, cell), PYTEST)
    assert len(cell.beside) == 2
    assert len(cell.alone) == 3  # the failing tests pass here: nothing more is asked


@pytest.mark.usefixtures("at_once")
def test_a_contract_that_failed_where_it_could_meet_its_companions_is_run_again(
    tmp_path: Path,
) -> None:
    def contract(cell: StagedCell) -> Outcome:
        if len(cell.alone) == 1:
            cell.both_begun()
            return FAILED._replace(could_meet=True)
        assert not companions_left()
        return FAILED

    cell = StagedCell(contract)
    assert judged(staged(tmp_path, cell), PYTEST).kind is VerdictKind.FAIL
    assert len(cell.alone) == 2


def test_where_nobody_hears_of_meetings_there_are_no_companions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judging = made(tmp_path, {"calc.py": RIGHT})
    judging = judging._replace(cell=StagedCell(lambda _: FAILED))
    assert beside.jobs(judging) >= 2
    monkeypatch.setattr(beside, "unheard", lambda: "no listener")
    assert beside.jobs(judging) == 1


@pytest.mark.usefixtures("at_once")
def test_a_contract_has_half_of_its_time_to_itself(tmp_path: Path) -> None:
    def waits(cell: StagedCell) -> Outcome:
        cell.both_begun()
        for _ in range(2):
            assert cell.ended.acquire(timeout=PATIENCE)
        return FAILED

    cell = StagedCell(waits)
    assert judged(limited(staged(tmp_path, cell), 0.2), PYTEST).kind is VerdictKind.FAIL


def test_where_runs_could_meet_there_are_no_companions(tmp_path: Path) -> None:
    judging = made(tmp_path, {"calc.py": RIGHT})
    assert beside.jobs(judging._replace(cell=StagedCell(lambda _: FAILED))) >= 2
    weak = StagedCell(lambda _: FAILED)
    weak.isolation = Isolation.I1
    assert beside.jobs(judging._replace(cell=weak)) == 1
    contracts = replace(judging.configuration.contracts, network=True)
    open_ = judging._replace(configuration=replace(judging.configuration, contracts=contracts))
    assert beside.jobs(open_._replace(cell=StagedCell(lambda _: FAILED))) == 1


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("took", "runs"), [(0.2, 1), (0.21, 2)])
def test_a_contract_that_took_longer_than_its_limit_is_run_again_by_itself(
    tmp_path: Path, took: float, runs: int
) -> None:
    def late(cell: StagedCell) -> Outcome:
        if len(cell.alone) == 1:
            cell.both_begun()
            assert cell.alone[0].limits.seconds > 0.2  # as much as it may lose to others
            return FAILED._replace(duration=took)
        assert not companions_left()
        assert cell.alone[1].limits.seconds == 0.2
        return Outcome(CommandEnding.TIMED_OUT)

    cell = StagedCell(late)
    verdict = judged(limited(staged(tmp_path, cell), 0.2), PYTEST)
    assert verdict.kind is (VerdictKind.FAIL if runs == 1 else VerdictKind.TIMEOUT)
    assert len(cell.alone) == runs


@pytest.mark.usefixtures("at_once")
def test_a_contract_that_hangs_is_told_by_the_limit_that_it_has(tmp_path: Path) -> None:
    def hangs(cell: StagedCell) -> Outcome:
        cell.both_begun()
        return Outcome(CommandEnding.TIMED_OUT, reason="ran past 0.266667 s")

    cell = StagedCell(hangs)
    verdict = judged(limited(staged(tmp_path, cell), 0.2), PYTEST)
    assert (verdict.kind, verdict.reason) == (VerdictKind.TIMEOUT, "ran past 0.2 s")
    assert len(cell.alone) == 1


def test_companions_wait_until_a_core_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Semaphore(0)

    def never() -> float:
        looked.release()
        return 0.0

    def passes(_cell: StagedCell) -> Outcome:
        for _ in range(4):
            assert looked.acquire(timeout=PATIENCE)
        return FAILED

    monkeypatch.setattr(beside, "_MOMENT", 0.001)
    monkeypatch.setattr(beside, "idle_seconds", never)
    cell = StagedCell(passes)
    assert judged(staged(tmp_path, cell), PYTEST).kind is VerdictKind.FAIL
    assert not cell.beside


def test_a_core_that_has_nothing_to_do_is_counted() -> None:
    before = beside.idle_seconds()
    assert 0 < before <= beside.idle_seconds()


# What a run could read to know that it is not the contract's own.
ORACLES = (
    "import os\n"
    "print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0),"
    " sorted(os.sched_getaffinity(0)), open('/proc/self/stat').read().split()[18])\n"
    "print(open('/proc/self/autogroup').read().split()[1:]"
    " if os.path.exists('/proc/self/autogroup') else '')\n"
)


@pytest.mark.thorough
@pytest.mark.usefixtures("at_once")
def test_no_run_can_be_told_by_its_priority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", active_environment())
    judging = with_jobs(made(tmp_path, {"say.py": ORACLES, "calc.py": RIGHT, **TESTS}), 2)
    printed: list[str] = []
    both, begun = threading.Barrier(2), count()

    class Heard:
        # Weaker cells run one after the other; what tells runs apart is the same in all of them.
        name, isolation = judging.cell.name, Isolation.I2

        def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
            if next(begun) < 2:
                both.wait(PATIENCE)
            outcome = judging.cell.run(request, overseer)
            printed.append("\n".join(outcome.stdout.text().splitlines()[:2]))
            return outcome

    judged(judging._replace(cell=Heard()), f"python say.py && {PYTEST}")
    assert len(printed) >= 2
    assert len(set(printed)) == 1


# -- what is told meanwhile ----------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.usefixtures("at_once")
def test_who_waits_reads_that_the_canary_is_red_while_the_contract_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", active_environment())
    judging = with_jobs(made(tmp_path, {"calc.py": RIGHT, **TESTS}), 2)
    is_red, stages = threading.Event(), list[str]()

    def notice(stage: Stage | None) -> None:
        stages.append("" if stage is None else stage.part)
        if stage is not None and "canary red" in stage.part:
            is_red.set()

    class Waiting:
        name, isolation = judging.cell.name, judging.cell.isolation

        def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
            outcome = judging.cell.run(request, overseer)
            assert overseer is not None or is_red.wait(PATIENCE)
            return outcome

    verdict = judged(judging._replace(cell=Waiting(), on_stage=notice), PYTEST)
    assert verdict.canary is CanaryRun.RED
    assert stages[0] == ""
    assert stages[-1] == ""


def test_what_runs_beside_a_contract_is_told_in_the_line_of_the_contract() -> None:
    stages = Stages()

    def tell(stage: Stage | None) -> None:
        thread = threading.Thread(target=stages.notice, args=(stage,))
        thread.start()
        thread.join()

    stage = Stage(3, 4, "npm test")
    stages.notice(stage)
    tell(stage._replace(part="canary red"))
    tell(Stage(4, 4, "make"))
    first, second = (re.sub(r"[0-9.]+ s", "0 s", line) for line in stages.lines())
    assert first == "judging 3/4: npm test, 0 s, canary red"
    assert second == "judging 4/4: make, 0 s"
    stages.notice(None)
    assert len(stages.lines()) == 1
    assert not stages.due()  # not within the first second


def test_contracts_that_are_judged_now_are_told_in_the_order_of_the_plan() -> None:
    stages, over = Stages(), threading.Event()

    def judge_for_long(place: int, told: threading.Event) -> None:
        stages.notice(Stage(place, 3, "make"))
        told.set()
        over.wait(PATIENCE)

    threads = []
    for place in (2, 3, 1):
        told = threading.Event()
        threads.append(threading.Thread(target=judge_for_long, args=(place, told)))
        threads[-1].start()
        assert told.wait(PATIENCE)
    assert [line.split(":")[0] for line in stages.lines()] == [f"judging {n}/3" for n in (1, 2, 3)]
    over.set()
    for thread in threads:
        thread.join()


# -- when a run is cancelled ---------------------------------------------------------------------


@pytest.mark.parametrize("who", ["the run", "the contract"])
def test_a_companion_of_a_run_ends_with_the_run_and_with_its_contract(who: str) -> None:
    control, over = StopSignal(), threading.Event()
    cell = beside.StoppableCell(ControlledCell(ScriptedCell(), control), over)
    request = Request(("/bin/true",), "/w", {})
    assert cell.run(request).ending is CommandEnding.EXITED
    if who == "the run":
        control.stop("cancelled")
    else:
        over.set()
    assert cell.run(request).ending is CommandEnding.STOPPED


# -- at the gate ---------------------------------------------------------------------------------


class GateCell:
    """Lets contracts at the gate wait for each other."""

    name = "gate"
    isolation = Isolation.I2

    def __init__(self, answer: Callable[[str, Overseer | None], Outcome]) -> None:
        self._answer = answer

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        return self._answer(request.command[-1], overseer)


def looks(tmp_path: Path, cell: Cell, *contracts: str) -> Iterator[Verdict]:
    return observe(staged(tmp_path, cell), steps(*contracts))


@pytest.mark.requirement("judging.beside")
def test_contracts_at_the_gate_run_beside_each_other_and_are_told_in_order(tmp_path: Path) -> None:
    second = threading.Event()

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        if command == "test -e a":
            assert second.wait(PATIENCE)
            return FAILED
        second.set()
        return Outcome(CommandEnding.EXITED, exit_code=0)

    found = list(looks(tmp_path, GateCell(answer), "test -e a", "test -e b"))
    assert [verdict.number for verdict in found] == ["1", "2"]
    assert [verdict.kind for verdict in found] == [VerdictKind.FAIL, VerdictKind.PASS]


def test_a_look_that_ran_out_of_time_beside_others_is_taken_again_alone(tmp_path: Path) -> None:
    seen: list[str] = []

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        seen.append(command)
        late = command == "test -e a" and seen.count(command) == 1
        return Outcome(CommandEnding.TIMED_OUT) if late else FAILED

    found = list(looks(tmp_path, GateCell(answer), "test -e a", "test -e b"))
    assert [verdict.kind for verdict in found] == [VerdictKind.FAIL, VerdictKind.FAIL]
    assert sorted(seen) == ["test -e a", "test -e a", "test -e b"]


@pytest.mark.parametrize("where", ["gate", "end"])
def test_a_contract_that_could_have_met_another_is_judged_again_alone(
    tmp_path: Path, where: str
) -> None:
    seen: list[str] = []

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        seen.append(command)
        meets = command == "test -e b"
        if where == "gate" and meets and seen.count(command) == 1:
            return FAILED._replace(could_meet=True)
        return Outcome(CommandEnding.EXITED, exit_code=0, could_meet=meets)

    contracts = ("test -e a", "test -e b")
    if where == "gate":
        found = list(looks(tmp_path, GateCell(answer), *contracts))
    else:
        found = at_the_end(tmp_path, answer, *contracts)
    assert [verdict.kind for verdict in found] == [VerdictKind.PASS, VerdictKind.PASS]
    assert sorted(seen) == ["test -e a", "test -e b", "test -e b"]


def test_who_leaves_the_gate_leaves_nothing_running(tmp_path: Path) -> None:
    stopped: list[str] = []

    def answer(command: str, overseer: Overseer | None) -> Outcome:
        if command == "test -e a":
            return FAILED
        assert overseer is not None
        tick = threading.Event()
        for _ in range(int(PATIENCE / 0.01)):
            if overseer.stop():
                stopped.append(command)
                break
            tick.wait(0.01)
        return Outcome(CommandEnding.STOPPED)

    found = looks(tmp_path, GateCell(answer), "test -e a", "test -e b", "test -e c")
    assert next(found).kind is VerdictKind.FAIL
    found.close()  # type: ignore[attr-defined]  # a generator
    assert set(stopped) <= {"test -e b", "test -e c"}
    assert not [each for each in threading.enumerate() if each.name.startswith("together")]


# -- at the end of a plan ------------------------------------------------------------------------


def at_the_end(
    tmp_path: Path, answer: Callable[[str, Overseer | None], Outcome], *contracts: str
) -> list[Verdict]:
    judging = with_jobs(staged(tmp_path, GateCell(answer)), 2)
    seen = judging.tree.manifest(judging.rules)
    setting = Setting(frozen=None, scope=Scope(None))
    return list(judge_together(judging, steps(*contracts), setting, seen))


@pytest.mark.requirement("judging.beside")
def test_contracts_at_the_end_run_beside_each_other_and_are_told_in_order(tmp_path: Path) -> None:
    second = threading.Event()

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        if command == "test -e a":
            assert second.wait(PATIENCE)
            return FAILED
        second.set()
        return Outcome(CommandEnding.EXITED, exit_code=0)

    found = at_the_end(tmp_path, answer, "test -e a", "test -e b", "test -e c")
    assert [verdict.number for verdict in found] == ["1", "2", "3"]
    kinds = [VerdictKind.FAIL, VerdictKind.PASS, VerdictKind.PASS]
    assert [verdict.kind for verdict in found] == kinds


@pytest.mark.parametrize("times", [1, 99])
def test_where_somebody_wrote_meanwhile_each_is_judged_by_itself(
    tmp_path: Path, times: int
) -> None:
    ran: list[str] = []

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        ran.append(command)
        if ran.count("test -e b") <= times and command == "test -e b":
            (tmp_path / "w" / "stray").write_text(str(len(ran)))
        return Outcome(CommandEnding.EXITED, exit_code=0)

    first, second = at_the_end(tmp_path, answer, "test -e a", "test -e b")
    assert sorted(ran) == ["test -e a"] * 2 + ["test -e b"] * 2
    assert first.kind is VerdictKind.PASS
    assert first.tree == second.tree
    if times > 1:
        assert second.reason == "the workspace changed while it was judged: stray"
    else:
        assert second.kind is VerdictKind.PASS


def test_what_stands_twice_at_the_end_is_run_once(tmp_path: Path) -> None:
    ran: list[str] = []

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        ran.append(command)
        return Outcome(CommandEnding.EXITED, exit_code=0)

    found = at_the_end(tmp_path, answer, "test -e a", "test -e b", "test -e a")
    assert [verdict.kind for verdict in found] == [VerdictKind.PASS] * 3
    assert sorted(ran) == ["test -e a", "test -e b"]


def test_a_contract_that_ran_out_of_time_beside_others_is_judged_again_alone(
    tmp_path: Path,
) -> None:
    ran: list[str] = []

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        ran.append(command)
        late = command == "test -e a" and ran.count(command) == 1
        kind = CommandEnding.TIMED_OUT if late else CommandEnding.EXITED
        return Outcome(kind, exit_code=None if late else 0)

    found = at_the_end(tmp_path, answer, "test -e a", "test -e b", "test -e c")
    assert [verdict.kind for verdict in found] == [VerdictKind.PASS] * 3
    assert sorted(ran).count("test -e a") == 2


@pytest.mark.parametrize(
    ("alone", "kind", "times"),
    [
        ((), VerdictKind.PASS, 4),
        (("first",), VerdictKind.FAIL, 2),
        (("third",), VerdictKind.FLAKY, 4),
    ],
    ids=["for its neighbours", "anyway", "now and then"],
)
def test_a_contract_that_failed_beside_others_is_judged_again_alone(
    tmp_path: Path, alone: tuple[str, ...], kind: VerdictKind, times: int
) -> None:
    ran: list[str] = []

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        ran.append(command)
        number = ran.count(command)
        fails = number == 1 or ("beside", "first", "second", "third")[min(number, 4) - 1] in alone
        if command == "test -e a" and fails:
            return FAILED
        return Outcome(CommandEnding.EXITED, exit_code=0)

    first, second = at_the_end(tmp_path, answer, "test -e a", "test -e b")
    assert (first.kind, second.kind) == (kind, VerdictKind.PASS)
    assert ran.count("test -e a") == times


# -- reading Python in several threads -----------------------------------------------------------


def test_a_text_is_read_although_another_thread_makes_python_trip() -> None:
    tries = count()

    def parse(text: str) -> str:
        if next(tries) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=36, after=30)")
        return text.upper()

    assert steadily(parse, "x") == "X"

    def never(text: str) -> str:
        raise SystemError(text)

    with pytest.raises(SystemError, match="always"):
        steadily(never, "always")
