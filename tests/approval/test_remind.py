"""Asking again for an approval, and which run used one up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planbound.approval.remind import MAX_REMINDERS, remind
from planbound.journal.event import EventKind, ExecutionStarted, GateApprovalRequested, GateRejected
from planbound.journal.record import Query
from planbound.journal.redact import Redactor
from planbound.state.append import Recorder
from planbound.state.approval import KINDS
from planbound.state.plan import plan_state
from planbound.testing.journal import MemoryJournal

pytestmark = pytest.mark.requirement("gate.reminder")

HOUR = 3600.0


def at(minutes: int) -> str:
    days, rest = divmod(minutes, 24 * 60)
    return f"2026-11-{1 + days:02}T{rest // 60:02}:{rest % 60:02}:00.000000Z"


class Clock:
    def __init__(self) -> None:
        self.minutes = 0

    def now(self) -> str:
        return at(self.minutes)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorder(clock: Clock) -> Recorder:
    made = Recorder(MemoryJournal(), redactor=Redactor({}), now=clock.now)
    made.record(GateApprovalRequested(plan_id="it", digest="d", tree="t"), "it", key="first")
    return made


def reminders(recorder: Recorder) -> Iterator[object]:
    kinds = (EventKind.GATE_APPROVAL_REQUESTED,)
    for record in recorder.journal.read(Query(plan="it", events=kinds)):
        assert isinstance(record.event, GateApprovalRequested)
        yield record.event.reminder


def test_who_does_not_answer_is_asked_again_and_at_most_ten_times(
    recorder: Recorder, clock: Clock
) -> None:
    for minute in range(0, 20 * 60, 30):
        clock.minutes = minute
        remind(recorder, recorder.journal, HOUR, clock.now())
    assert list(reminders(recorder)) == [None, *range(1, MAX_REMINDERS + 1)]
    kinds = {record.kind for record in recorder.journal.read(Query())}
    assert kinds == {EventKind.GATE_APPROVAL_REQUESTED}


def test_who_was_away_is_reminded_once(recorder: Recorder, clock: Clock) -> None:
    clock.minutes = 9 * 60
    assert remind(recorder, recorder.journal, HOUR, clock.now()) == ["it"]
    assert remind(recorder, recorder.journal, HOUR, clock.now()) == []
    assert list(reminders(recorder)) == [None, 1]


def test_a_decision_ends_the_reminders(recorder: Recorder, clock: Clock) -> None:
    recorder.record(GateRejected(reason="no"), "it")
    clock.minutes = 9 * 60
    assert remind(recorder, recorder.journal, HOUR, clock.now()) == []


def test_two_that_remind_at_once_note_one_reminder(recorder: Recorder, clock: Clock) -> None:
    clock.minutes = 9 * 60
    before = MemoryJournal()
    before.append([record.draft for record in recorder.journal.read(Query())])
    assert remind(recorder, before, HOUR, clock.now()) == ["it"]
    assert remind(recorder, before, HOUR, clock.now()) == [], "people are told once"
    assert list(reminders(recorder)) == [None, 1]


@pytest.mark.requirement("gate.bound")
def test_the_run_that_used_an_approval_up_is_known(recorder: Recorder) -> None:
    assert used(recorder) == {}
    recorder.record(ExecutionStarted(run="r1", nonce="n1"), "it")
    recorder.record(ExecutionStarted(run="r2", nonce="n2"), "other")
    assert used(recorder) == {"n1": "r1"}


def used(recorder: Recorder) -> dict[str, str]:
    state = plan_state(recorder.journal, "it", KINDS)
    return state.approval.used if state is not None else {}
