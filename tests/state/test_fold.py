"""State is what the events say, and nothing else."""

from __future__ import annotations

import pytest

from planbound.journal.event import EventKind, Result, TaskCompleted, VerdictKind
from planbound.journal.record import Draft, Json, Provenance, Query, Record
from planbound.plan.model import PlanStatus, StepStatus
from planbound.state.plan import PlanState, fold
from planbound.state.step import completed_as
from planbound.testing.journal import MemoryJournal
from tests.journal import told
from tests.tables import one_fact

E = EventKind
Event = tuple[EventKind, str | None, dict[str, Json]]


def happened(
    *events: EventKind | Event, plan: str = "a", provenance: Provenance = Provenance.LIVE
) -> list[Record]:
    journal = MemoryJournal()
    for number, event in enumerate(events, start=1):
        kind, task, details = event if isinstance(event, tuple) else (event, None, {})
        stamp = f"2026-11-15T09:00:{number:02}.000000Z"
        draft = Draft(str(number), stamp, kind, plan, task, None, told(kind, details), provenance)
        journal.append([draft])
    return list(journal.read(Query()))


def state(*events: EventKind | Event) -> PlanState:
    return fold(happened(*events))["a"]


def started(task: str, attempt: int = 1) -> Event:
    return E.TASK_STARTED, task, {"attempt": attempt}


def completed(task: str, result: str = "proved") -> Event:
    return E.TASK_COMPLETED, task, {"result": result}


def complete(completed: int = 0, failed: int = 0, skipped: int = 0, waived: int = 0) -> Event:
    counts: dict[str, Json] = {"completed": completed, "failed": failed}
    return E.EXECUTION_COMPLETE, None, counts | {"skipped": skipped, "waived": waived}


CREATED: Event = (E.PLAN_CREATED, None, {"task_count": 2, "dependencies": {}})
BLOCKED: Event = (E.TASK_BLOCKED, "1", {"reason": "no"})
WITH_BLOCKED: Event = (E.FINALIZATION_ACCEPTED, None, {"blocked": ["step 1: no"]})
STUCK: dict[str, Json] = {"reason": "stuck", "user_decision": None, "escalation": "q1"}
ESCALATED: Event = (E.RECOVERY_ESCALATION, "1", STUCK)


def test_no_events_no_state() -> None:
    assert fold([]) == {}
    assert fold(happened(E.PLAN_CREATED, plan="")) == {}


@one_fact(
    ("events", "status"),
    [
        ([CREATED], PlanStatus.DRAFT),
        ([CREATED, E.PLAN_VERIFIED], PlanStatus.VERIFIED),
        ([E.PLAN_VERIFIED, E.GATE_APPROVED], PlanStatus.APPROVED),
        ([E.GATE_APPROVED, started("1")], PlanStatus.IN_PROGRESS),
        ([started("1"), complete(1)], PlanStatus.DONE),
        ([started("1"), complete(1, waived=1)], PlanStatus.DONE),
        ([started("1"), complete(1, skipped=1)], PlanStatus.DONE_WITH_SKIPS),
        ([started("1"), complete(1, failed=1, skipped=1)], PlanStatus.FAILED),
        ([complete(0, failed=1), started("1", 2)], PlanStatus.IN_PROGRESS),
        ([E.GATE_APPROVED, E.PLAN_REWRITTEN], PlanStatus.DRAFT),
        ([E.GATE_APPROVED, E.PLAN_AMENDED], PlanStatus.DRAFT),
        ([E.PLAN_VERIFIED, E.GATE_REJECTED], PlanStatus.DRAFT),
        ([started("1"), complete(1), E.PLAN_ARCHIVED], PlanStatus.DONE),
        ([CREATED, completed("1", "claimed")], PlanStatus.IN_PROGRESS),
        ([CREATED, BLOCKED], PlanStatus.IN_PROGRESS),
        ([CREATED, completed("1"), E.FINALIZATION_ACCEPTED], PlanStatus.DONE),
        ([CREATED, BLOCKED, WITH_BLOCKED], PlanStatus.FINISHED_BLOCKED),
        ([CREATED, E.FINALIZATION_CAPPED], PlanStatus.FAILED),
        ([CREATED, E.FINALIZATION_CAPPED, started("1")], PlanStatus.IN_PROGRESS),
        ([CREATED, E.SESSION_RELEASED], PlanStatus.FAILED),
    ],
)
def test_the_status_follows_the_life_of_a_plan(
    events: list[EventKind | Event], status: PlanStatus
) -> None:
    assert state(*events).status is status


def test_an_event_that_changes_nothing_leaves_the_status() -> None:
    quiet = set(EventKind) - {
        *(E.PLAN_CREATED, E.PLAN_VERIFIED, E.PLAN_REWRITTEN, E.PLAN_AMENDED, E.PLAN_STAGED),
        *(E.PLAN_ACTIVATED, E.GATE_APPROVED, E.GATE_REJECTED, E.TASK_STARTED),
        *(E.EXECUTION_COMPLETE, E.FINALIZATION_ACCEPTED, E.FINALIZATION_CAPPED),
        E.SESSION_RELEASED,
    }
    for kind in quiet:
        assert state(started("1"), kind).status is PlanStatus.IN_PROGRESS


def test_steps_of_an_agent_in_the_loop_are_blocked_and_opened_again() -> None:
    reopened: Event = (E.TASK_REOPENED, "2", {"before": "claimed"})
    found = state(CREATED, BLOCKED, completed("2", "claimed"), reopened)
    assert {task.id: task.status.value for task in found.steps.values()} == {
        "1": "blocked",
        "2": "pending",
    }


def test_a_rewrite_that_says_what_it_keeps_loses_nothing_of_that() -> None:
    kept: Event = (E.PLAN_REWRITTEN, None, {"from": "a", "to": "b", "kept": ["1"]})
    found = state(CREATED, completed("1"), completed("2"), kept)
    assert list(found.steps) == ["1"]


def test_a_release_answers_what_waits() -> None:
    assert state(CREATED, E.FINALIZATION_CAPPED).waiting == "incomplete"
    assert state(CREATED, E.FINALIZATION_CAPPED, E.SESSION_RELEASED).waiting is None


def test_tasks_have_their_status_attempts_and_verdict() -> None:
    found = state(
        started("1"),
        (E.CONTRACT_EVALUATED, "1", {"verdict": "fail", "exit_code": 1}),
        started("1", 2),
        (E.CONTRACT_EVALUATED, "1", {"verdict": "pass", "exit_code": 0}),
        completed("1"),
        (E.TASK_SKIPPED, "2", {}),
        (E.WAIVED, "3", {"by": "Ana", "reason": "late"}),
        (E.TASK_FAILED, "4", {"error_message": "no"}),
        (E.ATTESTED, "5", {"by": "Ana", "statement": "seen"}),
    )
    assert {task.id: task.status.value for task in found.steps.values()} == {
        "1": "done",
        "2": "skipped",
        "3": "waived",
        "4": "failed",
        "5": "attested",
    }
    assert (found.steps["1"].attempts, found.steps["1"].verdict) == (2, VerdictKind.PASS)


def test_plans_do_not_mix() -> None:
    both = [*happened(started("1")), *happened(CREATED, plan="b")]
    found = fold(both)
    assert found["a"].status is PlanStatus.IN_PROGRESS
    assert found["b"].status is PlanStatus.DRAFT
    assert dict(found["b"].steps) == {}


def test_first_and_last_event_are_kept() -> None:
    found = state(CREATED, started("1"))
    assert (found.first, found.last) == (
        "2026-11-15T09:00:01.000000Z",
        "2026-11-15T09:00:02.000000Z",
    )
    assert (found.last_event, found.seq, found.started) == (E.TASK_STARTED, 2, True)


ASKED: Event = (E.GATE_APPROVAL_REQUESTED, None, {"plan_id": "a", "digest": "d"})
REFUSED: Event = (E.RECOVERY_ESCALATION, "1", STUCK | {"kind": "permission"})
ANSWERED: Event = (E.RECOVERY_ESCALATION, "1", STUCK | {"user_decision": "retry"})


@pytest.mark.parametrize(
    ("event", "waiting", "answer"),
    [
        (ASKED, "approval", E.GATE_APPROVED),
        (ASKED, "approval", E.GATE_REJECTED),
        (ESCALATED, "escalation", ANSWERED),
        (REFUSED, "permission", ANSWERED),
    ],
)
def test_a_question_waits_until_it_is_answered(
    event: Event, waiting: str, answer: EventKind | Event
) -> None:
    assert state(started("1"), event).waiting == waiting
    assert state(started("1"), event, E.FINALIZATION_REJECTED).waiting == waiting
    assert state(started("1"), event, answer).waiting is None


def test_digest_and_revision_are_the_last_ones_told() -> None:
    found = state(
        (E.PLAN_VERIFIED, None, {"digest": "d1", "revision": 1}),
        (E.PLAN_AMENDED, None, {"digest": "d2", "revision": 2}),
        E.PLAN_STAGED,
    )
    assert (found.digest, found.revision) == ("d2", 2)


def test_archived_until_it_is_active_again() -> None:
    assert state(CREATED, E.PLAN_ARCHIVED).archived
    assert not state(CREATED, E.PLAN_ARCHIVED, E.PLAN_ACTIVATED).archived


# Each of the following is a fault of today's fold.


def test_a_run_that_ended_before_all_steps_were_done_is_not_done() -> None:
    capped: Event = (E.FINALIZATION_CAPPED, None, {"missing": ["step 2"]})
    found = state(CREATED, started("1"), completed("1"), capped, complete(1))
    assert found.status not in {PlanStatus.DONE, PlanStatus.DONE_WITH_SKIPS}


def test_the_end_of_a_run_may_name_its_status() -> None:
    kind, task, counts = complete(1)
    assert state(started("1"), (kind, task, counts | {"status": "failed"})).status is (
        PlanStatus.FAILED
    )


@pytest.mark.parametrize("provenance", [Provenance.TEST, Provenance.REPLAY])
def test_only_what_really_happened_makes_a_plan_done(provenance: Provenance) -> None:
    records = happened(started("1"), complete(1), provenance=provenance)
    found = fold(records)
    assert "a" not in found or found["a"].status is not PlanStatus.DONE


def test_a_plan_with_errors_is_not_verified() -> None:
    assert state(CREATED, (E.PLAN_VERIFIED, None, {"errors": 3})).status is PlanStatus.DRAFT


def test_verifying_the_same_text_again_changes_nothing() -> None:
    verified: Event = (E.PLAN_VERIFIED, None, {"digest": "d"})
    approved: Event = (E.GATE_APPROVED, None, {"modifications": [], "digest": "d"})
    assert state(verified, approved, verified).status is PlanStatus.APPROVED


def test_a_claimed_step_is_not_done() -> None:
    assert state(started("1"), completed("1", "claimed")).steps["1"].status.value == "claimed"


def test_a_red_baseline_is_not_the_verdict_on_the_step() -> None:
    baseline: Event = (E.BASELINE_OBSERVED, "1", {"verdict": "fail"})
    assert state(started("1"), baseline).steps["1"].verdict is None


def test_a_question_about_one_step_outlives_events_of_another() -> None:
    assert state(started("1"), started("2"), ESCALATED, completed("2")).waiting == "escalation"


def test_a_clarification_that_was_answered_waits_for_the_approval_again() -> None:
    answered: Event = (E.GATE_CLARIFICATION_ASKED, None, {"question": "?", "answer": "!"})
    assert state(ASKED, answered).waiting == "approval"


def test_after_an_amendment_only_the_kept_steps_are_proved() -> None:
    amended: Event = (E.PLAN_AMENDED, None, {"kept": ["1"]})
    found = state(started("1"), completed("1"), started("2"), completed("2"), amended)
    assert found.steps["1"].status.value == "done"
    assert "2" not in found.steps or found.steps["2"].status.value == "pending"


def test_a_rewritten_plan_has_the_new_digest() -> None:
    rewritten: Event = (E.PLAN_REWRITTEN, None, {"from": "d1", "to": "d2"})
    assert state((E.PLAN_VERIFIED, None, {"digest": "d1"}), rewritten).digest == "d2"


@pytest.mark.parametrize("again", [CREATED, (E.PLAN_STAGED, None, {})])
def test_a_new_plan_by_the_name_of_an_archived_one_begins_anew(again: Event) -> None:
    old = (CREATED, started("1"), completed("1"), complete(1), E.PLAN_ARCHIVED)
    found = state(*old, again)
    assert (found.status, found.started, found.archived) == (PlanStatus.DRAFT, False, False)
    assert dict(found.steps) == {}


@pytest.mark.requirement("run.holds")
def test_what_holds_is_settled_and_told_apart_from_what_is_proved() -> None:
    held: Event = (E.TASK_COMPLETED, "2", {"result": "holds", "reason": "it was green"})
    evaluated: Event = (E.CONTRACT_EVALUATED, "2", {"verdict": "pass", "final": True})
    end: Event = (E.EXECUTION_COMPLETE, None, {**complete(1)[2], "holds": 1})
    found = state(CREATED, started("1"), completed("1"), started("2"), held, evaluated, end)
    assert [task.status.value for task in found.steps.values()] == ["done", "holds"]
    assert (found.holds, found.steps["2"].reason) == (1, "it was green")
    assert found.status is PlanStatus.DONE


@pytest.mark.requirement("run.attested")
@pytest.mark.parametrize("counts", [{"completed": 2}, {"completed": 1, "attested": 1}])
def test_what_is_attested_settles_a_plan_however_the_end_counts_it(counts: dict[str, Json]) -> None:
    end: Event = (E.EXECUTION_COMPLETE, None, {**complete(0)[2], **counts})
    attested: Event = (E.ATTESTED, "2", {"by": "Ana", "statement": "seen"})
    found = state(CREATED, started("1"), completed("1"), started("2"), attested, end)
    assert [task.status.value for task in found.steps.values()] == ["done", "attested"]
    assert found.status is PlanStatus.DONE


@pytest.mark.requirement("run.holds")
def test_a_journal_of_before_there_was_holds_says_proved_and_is_read_so() -> None:
    green: Event = (E.TASK_STARTED, "1", {"attempt": 1, "baseline": "pass"})
    found = state(green, completed("1"), complete(1))
    assert (found.steps["1"].status.value, found.holds) == ("done", 0)


@pytest.mark.parametrize("result", ["holds", "claimed", "attested", "proved", "done"])
def test_all_folds_name_what_completed_a_step_alike(result: str) -> None:
    event = TaskCompleted(result=Result(result))
    proved = result in {"proved", "done"}
    assert completed_as(event) is (StepStatus.DONE if proved else StepStatus(result))
    assert completed_as(event).is_settled
    assert completed_as(event).is_green is (proved or result == "holds")
