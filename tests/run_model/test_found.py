"""What the model has found, each as a plain story: see `machine.py`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from planbound.approval import record as gate
from planbound.errors import LeaseLost, Refused
from planbound.journal.event import EventKind, RunOutcome
from planbound.journal.words import Choice
from planbound.plan.digest import digest
from planbound.plan.model import StepStatus
from planbound.run.loop import Asking, Halted, RunEnded
from planbound.state.plan import fold
from tests.run_model.machine import RunMachine, Script
from tests.run_model.plans import ON_FAIL, PlanShape, StepShape
from tests.run_model.scene import Scene
from tests.run_model.world import FILE, JUDGE, SECRETS, SLUG, Attempt, Judged, Work

A, B = StepShape("a"), StepShape("b")
OPEN_A, OPEN_B = StepShape("a", scoped=False), StepShape("b", scoped=False)
STARTED, COMPLETED = EventKind.TASK_STARTED, EventKind.TASK_COMPLETED


def test_a_subscribed_file_is_told_without_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, A)
    scene.go(scene.start())
    (prompt,) = scene.world.prompts
    assert "Some notes." in prompt
    assert not any(secret in prompt for secret in SECRETS)


@pytest.mark.parametrize("how", ["reject", "rewrite"])
def test_a_run_stops_when_its_approval_is_taken_back(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    scene = Scene(monkeypatch, A, B)
    driver = scene.start()
    if how == "reject":
        scene.people.reject()
    else:
        before = digest(scene.people.plan())
        gate.record_change(
            scene.world.recorder, SLUG, before, "0" * 64, gate.Rewriting("somebody", "so")
        )
    scene.world.clock.pass_by(1)
    assert isinstance(scene.go(driver), Halted)
    assert not scene.events(STARTED)


@pytest.mark.thorough
def test_a_plan_that_is_changed_in_the_middle_of_a_turn_stops_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for call in range(1, 25):
        scene = Scene(monkeypatch, A, B, StepShape("c"))
        begun: list[int] = []

        def edit() -> None:
            begun.append(len(scene.events(STARTED)))  # noqa: B023 - called in this round
            scene.edit_plan(scene.shape._replace(wording=7))  # noqa: B023

        said = scene.go(scene.start(), meanwhile=[(call, edit)])
        assert isinstance(said, Halted), f"at call {call}"
        assert len(scene.events(STARTED)) <= begun[0] + 1


def test_nothing_begins_that_a_person_waived_a_moment_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for call in range(1, 12):
        scene = Scene(monkeypatch, A)
        driver = scene.start()
        waived: list[int] = []

        def waive() -> None:
            try:
                scene.people.waive("1", "enough")  # noqa: B023 - called in this round
            except Refused:
                return
            waived.append(len(scene.world.records()))  # noqa: B023

        said = scene.go(driver, meanwhile=[(call, waive)])
        assert said == RunEnded(RunOutcome.DONE)
        begun = [
            index for index, record in enumerate(scene.world.records())
            if record.kind is STARTED
        ]  # fmt: skip
        assert not waived or not any(index >= waived[0] for index in begun), f"at call {call}"


def test_an_approval_anew_forgets_what_was_done_under_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, A)
    assert scene.go(scene.start()) == RunEnded(RunOutcome.DONE)
    scene.people.approve()
    assert scene.people.state().steps[0].status is StepStatus.PENDING
    task = fold(scene.world.records())[SLUG].steps.get(A.id)
    assert task is None or task.status is StepStatus.PENDING


def test_people_decide_about_the_plan_that_was_approved_whatever_its_file_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, A, B)
    driver = scene.start()
    scene.go(driver, Work.RIGHT, Work.NOT_STARTED)
    driver.pause("waiting")
    edited = scene.shape._replace(steps=(B, A))
    scene.edit_plan(edited)
    scene.people.waive("2", "enough")
    (waived,) = scene.events(EventKind.WAIVED)
    assert waived["task"] == B.id
    scene.people.cancel(noticed=True)
    (end,) = scene.events(EventKind.EXECUTION_COMPLETE)
    assert (end["completed"], end["waived"]) == (1, 1)
    assert scene.world.plan_data() == edited.text()


def test_a_judge_that_is_put_back_as_it_was_approved_lets_the_run_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, A)
    scene.world.edit("tests/check-a.sh", b"by hand\n")
    with pytest.raises(Refused, match="judge changed"):
        scene.start()
    scene.world.edit("tests/check-a.sh", JUDGE)
    driver = scene.start()
    scene.world.edit("tests/check-a.sh", b"by hand\n")
    driver.halt("interrupted")
    scene.world.edit("tests/check-a.sh", JUDGE)
    assert scene.go(scene.start()) == RunEnded(RunOutcome.DONE)


def test_a_step_cannot_prepare_the_judge_of_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, OPEN_A, OPEN_B)
    said = scene.go(scene.start(), Work.OTHER_JUDGE, *[Work.NOTHING] * 8)
    assert isinstance(said, Asking)
    assert scene.verdicts(B.id)[0] == "tampered"
    assert "pass" not in scene.verdicts(B.id)
    assert scene.world.disk.folders["/workspace"]["tests/check-b.sh"] == JUDGE


def test_what_was_proved_does_not_prove_a_step_that_is_changed_after_the_amendment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, A, B)
    driver = scene.start()
    scene.go(driver, Work.RIGHT, Work.NOT_STARTED)
    driver.pause("waiting")
    scene.edit_plan(scene.shape._replace(steps=(A, B._replace(wording=1))))
    scene.people.amend()
    scene.edit_plan(scene.shape._replace(steps=(A._replace(wording=1), B)))
    scene.people.approve()
    assert {step.status for step in scene.people.state().steps} == {StepStatus.PENDING}


def test_an_amendment_that_is_changed_once_more_keeps_what_is_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, A, B)
    driver = scene.start()
    scene.go(driver, Work.RIGHT, Work.NOT_STARTED)
    driver.pause("waiting")
    for wording in (1, 2):
        scene.edit_plan(scene.shape._replace(steps=(A, B._replace(wording=wording))))
        if wording == 1:
            scene.people.amend()
    scene.people.approve()
    assert scene.people.state().steps[0].status is StepStatus.DONE


def test_who_was_away_when_the_plan_was_approved_anew_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, A, B)
    driver = scene.start()
    driver.turn()

    def amend() -> None:
        scene.world.gone.add(driver.holder)
        scene.edit_plan(scene.shape._replace(steps=(A, B._replace(wording=1))))
        scene.people.approve()

    with pytest.raises(LeaseLost):
        scene.go(driver, meanwhile=[(8, amend)])
    kinds = [record.kind for record in scene.world.records()]
    assert kinds[-1] is EventKind.GATE_APPROVED


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize(
    ("path", "kind"), [("src/a/work", "regression"), ("src/a/broken-after", "condition")]
)
def test_what_people_change_before_the_end_is_judged_too(
    monkeypatch: pytest.MonkeyPatch, path: str, kind: str, *, resumed: bool
) -> None:
    scene = Scene(monkeypatch, OPEN_A, OPEN_B, after=(False, True))
    driver = scene.start()
    assert isinstance(scene.go(driver), Asking)
    scene.world.edit(path, b"by hand\n")
    if resumed:
        driver.pause("waiting")
    scene.people.attest("postcondition:2")
    if resumed:
        driver = scene.start()
    scene.world.clock.pass_by(1)
    assert isinstance(scene.go(driver), Asking)
    assert [question.kind.value for question in scene.people.questions()] == [kind]


def test_what_is_judged_at_the_end_says_on_which_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, OPEN_A, OPEN_B)
    assert scene.go(scene.start()) == RunEnded(RunOutcome.DONE)
    judged = scene.events(EventKind.CONTRACT_EVALUATED)
    assert all(event["tree"] for event in judged if event.get("final"))


def test_the_time_between_a_crash_and_the_resume_costs_no_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, A, StepShape("b", on_fail=ON_FAIL[2]))
    driver = scene.start()
    scene.go(driver, Work.RIGHT, Work.NOT_STARTED)
    driver.drop()
    scene.world.clock.pass_by(timedelta(days=2).total_seconds())
    scene.people.waive("2", "enough")
    scene.world.clock.pass_by(timedelta(days=2).total_seconds())
    assert scene.go(scene.start()) == RunEnded(RunOutcome.DONE)
    (end,) = scene.events(EventKind.EXECUTION_COMPLETE)
    assert end["duration"] < 100
    assert not scene.events(EventKind.BUDGET_EXCEEDED)


@pytest.mark.thorough
def test_a_run_that_is_killed_at_any_call_goes_on_where_the_proof_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.run_model.machine import crash  # noqa: PLC0415 - the same end as in the model
    from tests.run_model.world import Crash  # noqa: PLC0415

    for call in range(1, 60):
        scene = Scene(monkeypatch, A, B, after=(False,))
        driver = scene.start()
        try:
            scene.go(driver, Work.WRONG, verdicts=[Judged.HONEST], meanwhile=[(call, crash)])
        except Crash:
            driver.drop()
            assert scene.go(scene.start()) == RunEnded(RunOutcome.DONE), f"at call {call}"
        proved = [event["task"] for event in scene.events(COMPLETED)]
        assert proved == [A.id, B.id], f"at call {call}"
        begun = [event["task"] for event in scene.events(STARTED)]
        assert begun.count(B.id) <= 2
    assert FILE.slug == SLUG


@pytest.mark.requirement("budget.before")
@pytest.mark.parametrize("jobs", [1, 2])
def test_who_goes_on_after_a_crash_asks_the_same_question_once(
    monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    scene = Scene(monkeypatch, A, B, budget=1000)
    scene.world.attempts.append(Attempt(Work.RIGHT, tokens=700))
    assert scene.go(scene.start(jobs)) == Asking()
    assert scene.go(scene.start(jobs)) == Asking()
    (question,) = scene.people.questions()
    assert "300 tokens of 1,000 tokens left, 700 tokens needed" in question.reason
    assert len(scene.events(EventKind.BUDGET_EXCEEDED)) == 1
    scene.people.answer(question, Choice.RAISE)
    assert scene.go(scene.start(jobs), Work.RIGHT) == RunEnded(RunOutcome.DONE)
    assert len(scene.events(EventKind.BUDGET_EXCEEDED)) == 1


@pytest.mark.parametrize("place", [4, 5, 6, 8])
def test_what_is_changed_while_the_end_is_judged_is_judged_too(place: int) -> None:
    machine = RunMachine()
    shape = PlanShape((A, B), before=0, after=(False,), budget=None, wording=0)
    machine.begin(shape=shape, jobs=1, approved=0)
    breaks = Attempt(Work.BREAK_AFTER, tokens=10, talks=False)
    for script, meanwhile in (
        (Script([breaks], [], Work.RIGHT), []),
        (Script([], [], Work.RIGHT), [(place, "edit file")]),
    ):
        machine.go_on(how="settle", meanwhile=meanwhile, script=script)
        machine.holds()
    machine.teardown()
