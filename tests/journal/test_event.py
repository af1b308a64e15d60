"""The set of events is closed, each says what it tells, and is written as it always was."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.errors import JournalProblem
from planbound.journal.event import (
    EVENTS,
    AttemptEnded,
    AttemptEnding,
    ContractEvaluated,
    EventField,
    EventKind,
    PlanAmended,
    RecoveryApplied,
    ScopeViolated,
    TaskStarted,
    VerdictKind,
    details_of,
    event_of,
    fields_of,
    kind_of,
)
from planbound.journal.fields import ControlResult
from planbound.journal.record import Details, Json, canonical, decode, details_text
from planbound.journal.redact import Redactor
from planbound.journal.words import RecoveryMove, StatusThen, SubjectKind, ToolStatus
from planbound.plan.model import PlanStatus, StepStatus
from planbound.state.append import Recorder
from planbound.state.item import tool_word
from planbound.testing.journal import MemoryJournal
from tests.journal import JSON, TEXT, sample
from tests.tables import one_fact

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
FINALIZATION_DEFERRED
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


GOLDEN = Path(__file__).parents[1] / "fixtures" / "journal"
RECORDER = Recorder(
    MemoryJournal(), redactor=Redactor({}), now=lambda: "2026-11-16T09:10:11.123456Z"
)


# What a writer of dictionaries wrote before there were structs: the canonical form is this.
def by_hand(details: dict[str, Json]) -> str:
    return json.dumps(details, sort_keys=True, separators=(",", ":"), allow_nan=False)


def everything(kind: EventKind) -> dict[str, Json]:
    return {field.name: sample(field) for field in fields_of(EVENTS[kind])}


def test_the_set_of_events_is_closed() -> None:
    assert {kind.name for kind in EventKind} == set(NAMES.split())
    assert all(kind.value == kind.name for kind in EventKind)
    assert set(EVENTS) == set(EventKind)
    for kind, event in EVENTS.items():
        assert event.__name__ == "".join(map(str.capitalize, kind.value.split("_")))


@one_fact("kind", EventKind, ids=lambda kind: kind.value)
def test_every_event_says_in_a_sentence_what_it_means(kind: EventKind) -> None:
    event = EVENTS[kind]
    assert event.VERSION >= 1
    assert event.__doc__
    assert event.__doc__[0].isupper()
    assert event.__doc__.endswith(".")
    names = [field.name for field in fields_of(event)]
    assert len(names) == len(set(names))
    assert all(name.isidentifier() and name.islower() for name in names)
    assert all(field.marker.meaning for field in fields_of(event))


@pytest.mark.parametrize("kind", PROMISED, ids=lambda kind: kind.value)
def test_what_is_promised_of_an_event_is_required(kind: EventKind) -> None:
    required = {field.name for field in fields_of(EVENTS[kind]) if field.required}
    assert required == set(PROMISED[kind].split())


@one_fact("kind", EventKind, ids=lambda kind: kind.value)
def test_details_that_fit_are_accepted_and_each_required_one_is_missed(kind: EventKind) -> None:
    details = everything(kind)
    written = RECORDER.draft(event_of(kind, 1, by_hand(details)), "plan").details
    assert written.json() == details
    for field in fields_of(EVENTS[kind]):
        rest = {name: value for name, value in details.items() if name != field.name}
        if field.required:
            with pytest.raises(JournalProblem, match=f"missing required field `{field.name}`"):
                event_of(kind, 1, by_hand(rest))
        else:
            event = event_of(kind, 1, by_hand(rest))
            assert RECORDER.draft(event, "plan").details.json() == rest


@one_fact("kind", EventKind, ids=lambda kind: kind.value)
def test_a_detail_of_the_wrong_type_is_named(kind: EventKind) -> None:
    details = everything(kind)
    for field in fields_of(EVENTS[kind]):
        wrong: Json = ["a"] if "object" in field.words else {"a": 1}
        with pytest.raises(JournalProblem, match=rf"`{kind.value}` are .* at `\$.{field.name}"):
            event_of(kind, 1, by_hand({**details, field.name: wrong}))


@pytest.mark.parametrize("value", [True, "1", 1.5, [1], {}])
def test_an_attempt_is_an_integer_and_nothing_else(value: Any) -> None:
    with pytest.raises(ValueError, match="Expected `int`, got"):
        RECORDER.draft(TaskStarted(attempt=value), "plan")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1"])
def test_a_number_is_finite(value: Any) -> None:
    with pytest.raises((ValueError, JournalProblem)):
        RECORDER.draft(
            RecoveryApplied(recipe_name="wait", outcome=RecoveryMove.RETRY, backoff=value), "plan"
        )


def test_texts_are_texts_all_of_them() -> None:
    files: Any = ("a.py", 3)
    assert RECORDER.draft(ScopeViolated(files=("a.py", "b.py")), "plan").details.json() == {
        "files": ["a.py", "b.py"]
    }
    with pytest.raises(ValueError, match=r"at `\$.files\[1\]`"):
        RECORDER.draft(ScopeViolated(files=files), "plan")


def test_what_was_not_told_is_not_written_and_null_is() -> None:
    verdict = ContractEvaluated(verdict=VerdictKind.TIMEOUT, exit_code=None)
    assert details_of(verdict) == {"verdict": "timeout", "exit_code": None}
    assert details_of(AttemptEnded(attempt=1, ending=AttemptEnding.LOST, tokens=None)) == {
        "attempt": 1,
        "ending": "lost",
        "tokens": None,
    }
    assert details_of(PlanAmended(from_="a", kept=())) == {"from": "a", "kept": []}


def test_an_unknown_detail_is_refused_unless_it_is_marked_as_ones_own() -> None:
    event = TaskStarted(attempt=1)
    draft = RECORDER.draft(event, "plan", extras={"x_team": [1, {}]})
    assert draft.details.json() == {"attempt": 1, "x_team": [1, {}]}
    with pytest.raises(ValueError, match="`team` is not a detail of `TASK_STARTED`; one of your"):
        RECORDER.draft(event, "plan", extras={"team": "a"})


def test_what_a_newer_version_tells_besides_is_left_out_and_stays_in_the_record() -> None:
    text = '{"attempt":1,"later":{"a":[1]},"x_team":1}'
    assert event_of(EventKind.TASK_STARTED, 1, text) == TaskStarted(attempt=1)
    assert Details(text).text == text


def test_a_word_of_a_newer_version_is_kept_and_taken_for_none_that_is_known() -> None:
    text = '{"exit_code":0,"verdict":"passed twice"}'
    event = event_of(EventKind.CONTRACT_EVALUATED, 1, text)
    assert isinstance(event, ContractEvaluated)
    assert event.verdict not in list(VerdictKind)
    assert event == event_of(EventKind.CONTRACT_EVALUATED, 1, text)
    assert details_text(details_of(event)) == text


def test_every_status_of_a_plan_is_a_word_of_events() -> None:
    assert {each.value for each in StatusThen} == {each.value for each in PlanStatus}
    assert {tool_word(each) for each in StepStatus} == set(ToolStatus)


def test_a_word_is_written_as_it_is_in_the_journal() -> None:
    assert f"{SubjectKind.STEP} 2" == "step 2"
    assert str(SubjectKind("a word of a newer version")) == "a word of a newer version"


def test_a_record_is_matched_by_what_happened() -> None:
    record = MemoryJournal().append([RECORDER.draft(TaskStarted(attempt=3, agent="x"), "plan")])[0]
    match record.event:
        case TaskStarted(attempt=attempt, agent="x"):
            assert attempt == 3
        case other:
            pytest.fail(f"not matched: {other}")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.stem)
def test_old_events_are_typed(path: Path) -> None:
    for line in path.read_text(encoding="ascii").splitlines():
        record = decode(line)
        assert kind_of(record.event) is record.kind


def test_old_events_are_written_again_byte_by_byte() -> None:
    lines = (GOLDEN / "v1-every-detail.jsonl").read_text(encoding="ascii").splitlines()
    for record in map(decode, lines):
        details = record.draft.details
        own = {name: value for name, value in details.json().items() if name.startswith("x_")}
        draft = RECORDER.draft(record.event, record.draft.plan, extras=own)
        assert draft.details == details
        assert canonical(record._replace(draft=record.draft._replace(details=draft.details))) == (
            canonical(record)
        )


def test_the_golden_files_have_every_detail_of_every_kind() -> None:
    told: dict[str, set[str]] = {}
    for path in GOLDEN.glob("v1*.jsonl"):
        for line in path.read_text(encoding="ascii").splitlines():
            record = json.loads(line)
            told.setdefault(record["event"], set()).update(record["details"])
    for kind, event in EVENTS.items():
        assert told[kind.value] >= {field.name for field in fields_of(event)}


INTEGERS = st.integers(-(2**70), 2**70)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXT,
    "exact text": TEXT,
    "exact text or null": st.none() | TEXT,
    "list of texts": st.lists(TEXT, max_size=3),
    "list of exact texts": st.lists(TEXT, max_size=3),
    "list of names with digests": st.lists(TEXT, max_size=3),
    "object of texts by id": st.dictionaries(TEXT, TEXT, max_size=3),
    "integer": INTEGERS,
    "integer or null": st.none() | INTEGERS,
    "number": INTEGERS | st.floats(allow_nan=False, allow_infinity=False),
    "true or false": st.booleans(),
}
NAMED: dict[str, st.SearchStrategy[Any]] = {
    "budget": st.fixed_dictionaries(
        {"tokens": INTEGERS, "dollars": TEXT, "seconds": st.integers(0) | st.floats(0, 1e9)}
    ),
    "dependencies": st.dictionaries(TEXT, st.lists(TEXT, max_size=2), max_size=2),
    "probes": st.dictionaries(
        TEXT,
        st.fixed_dictionaries({"name": TEXT, "arguments": st.dictionaries(TEXT, JSON, max_size=2)}),
        max_size=2,
    ),
    "mutated": st.fixed_dictionaries(
        {"sensitive": INTEGERS, "tests": INTEGERS, "blind": st.lists(TEXT, max_size=3)}
    ),
    "controls": st.lists(
        st.fixed_dictionaries(
            {
                "name": TEXT,
                "patch": TEXT,
                "result": st.sampled_from([each.value for each in ControlResult]),
                "verdict": st.none() | st.sampled_from([each.value for each in VerdictKind]),
                "reason": TEXT,
                "exit_code": st.none() | INTEGERS,
                "output_digest": st.none() | TEXT,
                "output_tail": st.none() | TEXT,
            }
        ),
        max_size=2,
    ),
    "tests": st.fixed_dictionaries(
        {"passed": INTEGERS, "failed": INTEGERS, "skipped": INTEGERS, "list": TEXT}
    ),
}
OTHERS = st.dictionaries(TEXT, TEXT, max_size=3)


def value_of(field: EventField) -> st.SearchStrategy[Any]:
    return VALUES.get(field.words, NAMED.get(field.name, OTHERS))


@st.composite
def told(draw: st.DrawFn) -> tuple[EventKind, dict[str, Json]]:
    kind = draw(st.sampled_from(EventKind))
    fields = fields_of(EVENTS[kind])
    required = {field.name: value_of(field) for field in fields if field.required}
    optional = {field.name: value_of(field) for field in fields if not field.required}
    return kind, draw(st.fixed_dictionaries(required, optional=optional))


@given(told())
def test_an_event_is_written_as_its_details_were_written_by_hand(
    told: tuple[EventKind, dict[str, Json]],
) -> None:
    kind, details = told
    written = by_hand(details)
    event = event_of(kind, 1, written)
    assert details_text(details_of(event)) == written
    assert msgspec.structs.replace(event) == event
