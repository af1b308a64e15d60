"""The set of events is closed, and each says what it tells."""

import pytest

from planbound.journal.event import EVENTS, DetailType, EventKind, validate
from planbound.journal.record import Json
from tests.journal import sample

NAMES = """
PLAN_CREATED PLAN_VERIFIED PLAN_EDITED PLAN_REWRITTEN PLAN_AMENDED
PLAN_STAGED PLAN_ACTIVATED PLAN_ARCHIVED
GATE_APPROVAL_REQUESTED GATE_APPROVED GATE_REJECTED GATE_CLARIFICATION_ASKED
EXECUTION_STARTED TASK_STARTED ATTEMPT_ENDED BASELINE_OBSERVED CONTRACT_STARTED CONTRACT_EVALUATED
TASK_COMPLETED TASK_FAILED TASK_SKIPPED TASK_BLOCKED TASK_REOPENED
PRECONDITION_CLAIMED POSTCONDITION_CLAIMED POSTCONDITION_BLOCKED
FAILURE_DETECTED FAILURE_CLASSIFIED RECOVERY_APPLIED RECOVERY_OUTCOME
RECOVERY_ESCALATION
PERMISSION_REQUIRED SCOPE_VIOLATED JUDGE_TAMPERED BUDGET_EXCEEDED BUDGET_RAISED WAIVED ATTESTED
FINALIZATION_REJECTED FINALIZATION_ACCEPTED FINALIZATION_CAPPED SESSION_RELEASED
LEASE_RELEASED
EXECUTION_PAUSED EXECUTION_CANCELLED EXECUTION_COMPLETE
WORKTREE_REQUESTED WORKTREE_SPAWNED WORKTREE_REMOVED WORK_COMMITTED
INTEGRATION_STARTED INTEGRATION_JUDGED INTEGRATION_STOPPED PLAN_INTEGRATED
"""

PROMISED = {
    EventKind.PLAN_CREATED: "task_count dependencies",
    EventKind.PLAN_EDITED: "from to",
    EventKind.PLAN_REWRITTEN: "from to",
    EventKind.GATE_APPROVAL_REQUESTED: "plan_id digest",
    EventKind.GATE_APPROVED: "modifications",
    EventKind.GATE_REJECTED: "reason",
    EventKind.TASK_STARTED: "attempt",
    EventKind.CONTRACT_EVALUATED: "verdict exit_code",
    EventKind.TASK_COMPLETED: "result",
    EventKind.TASK_FAILED: "error_message",
    EventKind.FAILURE_CLASSIFIED: "failure_type",
    EventKind.RECOVERY_APPLIED: "recipe_name outcome",
    EventKind.RECOVERY_OUTCOME: "recovery outcome",
    EventKind.RECOVERY_ESCALATION: "reason user_decision",
    EventKind.EXECUTION_COMPLETE: "completed failed skipped waived",
}


def test_the_set_of_events_is_closed() -> None:
    assert {kind.name for kind in EventKind} == set(NAMES.split())
    assert all(kind.value == kind.name for kind in EventKind)
    assert set(EVENTS) == set(EventKind)


@pytest.mark.parametrize("kind", EventKind, ids=lambda kind: kind.value)
def test_every_event_says_in_a_sentence_what_it_means(kind: EventKind) -> None:
    spec = EVENTS[kind]
    assert spec.version >= 1
    assert spec.meaning[0].isupper()
    assert spec.meaning.endswith(".")
    names = [detail.name for detail in spec.details]
    assert len(names) == len(set(names))
    assert all(name.isidentifier() and name.islower() for name in names)
    assert all(detail.meaning for detail in spec.details)


@pytest.mark.parametrize("kind", PROMISED, ids=lambda kind: kind.value)
def test_what_is_promised_of_an_event_is_required(kind: EventKind) -> None:
    required = {detail.name for detail in EVENTS[kind].details if detail.required}
    assert required == set(PROMISED[kind].split())


@pytest.mark.parametrize("kind", EventKind, ids=lambda kind: kind.value)
def test_details_that_fit_are_accepted_and_each_required_one_is_missed(kind: EventKind) -> None:
    details = {detail.name: sample(detail) for detail in EVENTS[kind].details}
    assert validate(kind, details) == []
    for detail in EVENTS[kind].details:
        rest = {name: value for name, value in details.items() if name != detail.name}
        missing = [f"`{detail.name}` is missing from `{kind.value}`"] if detail.required else []
        assert validate(kind, rest) == missing


@pytest.mark.parametrize("kind", EventKind, ids=lambda kind: kind.value)
def test_a_detail_of_the_wrong_type_is_named(kind: EventKind) -> None:
    details = {detail.name: sample(detail) for detail in EVENTS[kind].details}
    for detail in EVENTS[kind].details:
        objects = {DetailType.OBJECT, DetailType.EXACT_OBJECT, DetailType.TEXTS_BY_ID}
        wrong: Json = ["a"] if detail.type in objects else {"a": 1}
        (problem,) = validate(kind, {**details, detail.name: wrong})
        assert problem.startswith(f"`{detail.name}` of `{kind.value}` is ")
        assert problem.endswith(f"expected: {detail.type.value}")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (True, "true or false"),
        ("1", "text"),
        (1.0, "a number"),
        (None, "null"),
        ([1], "a list"),
        ({}, "an object"),
    ],
)
def test_an_attempt_is_an_integer_and_nothing_else(value: Json, found: str) -> None:
    problems = validate(EventKind.TASK_STARTED, {"attempt": value})
    assert problems == [f"`attempt` of `TASK_STARTED` is {found}, expected: integer"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1", None])
def test_a_number_is_finite(value: Json) -> None:
    details = {"recipe_name": "wait", "outcome": "retried", "backoff": value}
    assert len(validate(EventKind.RECOVERY_APPLIED, details)) == 1


def test_texts_are_texts_all_of_them() -> None:
    assert validate(EventKind.SCOPE_VIOLATED, {"files": ["a.py", "b.py"]}) == []
    assert len(validate(EventKind.SCOPE_VIOLATED, {"files": ["a.py", 3]})) == 1


def test_a_verdict_without_an_exit_code_says_so() -> None:
    details: dict[str, Json] = {"verdict": "timeout", "exit_code": None}
    assert validate(EventKind.CONTRACT_EVALUATED, details) == []


def test_an_unknown_detail_is_refused_unless_it_is_marked_as_ones_own() -> None:
    assert validate(EventKind.TASK_STARTED, {"attempt": 1, "x_team": [1, {}]}) == []
    assert validate(EventKind.TASK_STARTED, {"attempt": 1, "team": "a"}) == [
        "`team` is not a detail of `TASK_STARTED`; one of your own begins with `x_`"
    ]


def test_all_problems_come_at_once() -> None:
    assert len(validate(EventKind.EXECUTION_COMPLETE, {"completed": "2", "done": 1})) == 5
