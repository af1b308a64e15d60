"""What the contract of the next step says beside the one of this step is what it says alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from planbound.cells.cell import Cell, CommandEnding, Outcome, Overseer
from planbound.cells.isolation import Isolation
from planbound.journal.event import VerdictKind
from planbound.judging import together as module
from planbound.judging.case import Scope
from planbound.judging.contract import Setting
from planbound.judging.together import judge_with_next
from planbound.judging.verdict import Verdict
from tests.judging.test_beside import (
    FAILED,
    PATIENCE,
    GateCell,
    companions_left,
    staged,
    steps,
    with_jobs,
)

pytestmark = pytest.mark.requirement("judging.beside")

PASSED = Outcome(CommandEnding.EXITED, exit_code=0)
THIS, NEXT = "test -e a", "test -e b"
Answer = Callable[[str, Overseer | None], Outcome]


def both(tmp_path: Path, answer: Answer | Cell, *, jobs: int = 2) -> tuple[Verdict, Verdict | None]:
    cell = GateCell(answer) if callable(answer) else answer
    judging = with_jobs(staged(tmp_path, cell), jobs)
    this, upcoming = steps(THIS, NEXT)
    found = judge_with_next(judging, this, Setting(frozen=None, scope=Scope(None)), upcoming)
    assert companions_left() == []
    return found


def test_both_run_at_the_same_time_on_the_same_tree(tmp_path: Path) -> None:
    begun = {THIS: threading.Event(), NEXT: threading.Event()}

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        begun[command].set()
        assert all(event.wait(PATIENCE) for event in begun.values())
        return PASSED if command == THIS else FAILED

    verdict, looked = both(tmp_path, answer)
    assert looked is not None
    assert (verdict.kind, looked.kind) == (VerdictKind.PASS, VerdictKind.FAIL)
    assert (verdict.number, looked.number) == ("1", "2")
    assert verdict.tree == looked.tree


@pytest.mark.parametrize("who", [THIS, NEXT])
def test_who_could_have_met_the_other_one_is_asked_alone(tmp_path: Path, who: str) -> None:
    """A lock that both hold makes one red that is green alone, and one green that is red alone."""
    beside = threading.Event()
    asked: list[str] = []

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        asked.append(command)
        if len(asked) <= 2:
            if len(asked) == 2:
                beside.set()
            assert beside.wait(PATIENCE)
            return (PASSED if command == THIS else FAILED)._replace(could_meet=command == who)
        return FAILED

    verdict, looked = both(tmp_path, answer)
    assert looked is None
    assert verdict.kind is (VerdictKind.FAIL if who == THIS else VerdictKind.PASS)
    assert asked.count(THIS) == (2 if who == THIS else 1)


@pytest.mark.parametrize("who", [THIS, NEXT])
def test_where_somebody_wrote_meanwhile_nothing_is_known_of_the_next(
    tmp_path: Path, who: str
) -> None:
    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        if command == who:
            (tmp_path / "w" / "stray").write_text("x")
        return PASSED

    verdict, looked = both(tmp_path, answer)
    assert looked is None
    assert verdict.reason == "the workspace changed while it was judged: stray"


def test_where_only_times_changed_meanwhile_nothing_is_known_of_the_next(tmp_path: Path) -> None:
    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        if command == THIS:
            (tmp_path / "w" / "calc.py").touch()
        return PASSED

    verdict, looked = both(tmp_path, answer)
    assert verdict.kind is VerdictKind.PASS
    assert looked is None


@pytest.mark.parametrize("ending", [FAILED, Outcome(CommandEnding.EXITED, exit_code=126)])
def test_where_this_one_does_not_pass_the_next_is_stopped(tmp_path: Path, ending: Outcome) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def answer(command: str, overseer: Overseer | None) -> Outcome:
        if command == THIS:
            assert begun.wait(PATIENCE)
            return ending
        begun.set()
        return _until_stopped(overseer, stopped)

    verdict, looked = both(tmp_path, answer)
    assert verdict.kind is not VerdictKind.PASS
    assert looked is None
    assert stopped.is_set()


def test_the_next_one_is_not_waited_for_longer_than_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOMENT", 0.01)
    stopped = threading.Event()

    def answer(command: str, overseer: Overseer | None) -> Outcome:
        return PASSED if command == THIS else _until_stopped(overseer, stopped)

    verdict, looked = both(tmp_path, answer)
    assert verdict.kind is VerdictKind.PASS
    assert looked is None
    assert stopped.is_set()


@pytest.mark.parametrize(
    "ending",
    [
        Outcome(CommandEnding.TIMED_OUT),
        Outcome(CommandEnding.SIGNALLED, signal=9),
        Outcome(CommandEnding.NOT_STARTED),
        Outcome(CommandEnding.STOPPED),
        Outcome(CommandEnding.EXITED, exit_code=127),
    ],
    ids=lambda each: each.ending.value,
)
def test_a_next_one_that_did_not_come_to_its_own_end_is_looked_at_again(
    tmp_path: Path, ending: Outcome
) -> None:
    verdict, looked = both(tmp_path, lambda command, _: PASSED if command == THIS else ending)
    assert verdict.kind is VerdictKind.PASS
    assert looked is None


def test_one_that_ran_out_of_time_beside_the_next_is_judged_again_alone(tmp_path: Path) -> None:
    ran: list[str] = []

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        ran.append(command)
        late = command == THIS and ran.count(THIS) == 1
        return Outcome(CommandEnding.TIMED_OUT) if late else PASSED

    verdict, looked = both(tmp_path, answer)
    assert verdict.kind is VerdictKind.PASS
    assert looked is None
    assert ran.count(THIS) == 2


class WeakCell(GateCell):
    """A cell with walls, in which runs could meet."""

    isolation = Isolation.I1


def test_where_runs_could_meet_or_one_job_is_allowed_the_next_one_is_not_run(
    tmp_path: Path,
) -> None:
    ran: list[str] = []

    def answer(command: str, _overseer: Overseer | None) -> Outcome:
        ran.append(command)
        return PASSED

    assert both(tmp_path / "one", answer, jobs=1)[1] is None
    assert both(tmp_path / "weak", WeakCell(answer))[1] is None
    assert ran == [THIS, THIS]


def _until_stopped(overseer: Overseer | None, stopped: threading.Event) -> Outcome:
    assert overseer is not None
    tick = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if overseer.stop():
            stopped.set()
            break
        tick.wait(0.01)
    return Outcome(CommandEnding.STOPPED)
