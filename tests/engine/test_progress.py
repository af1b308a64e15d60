"""The lines that a second person reads."""

from __future__ import annotations

import pytest

from planbound.engine.progress import _LINES, ProgressLines
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json, Provenance, Record

SILENT = {
    EventKind.PLAN_VERIFIED,
    EventKind.PLAN_STAGED,
    EventKind.PLAN_ARCHIVED,
    EventKind.GATE_APPROVAL_REQUESTED,
    EventKind.ATTEMPT_ENDED,
    EventKind.BASELINE_OBSERVED,
    EventKind.FAILURE_CLASSIFIED,
    EventKind.RECOVERY_APPLIED,
    EventKind.RECOVERY_OUTCOME,
    EventKind.PERMISSION_REQUIRED,
    EventKind.SCOPE_VIOLATED,
    EventKind.JUDGE_TAMPERED,
    EventKind.BUDGET_EXCEEDED,
    EventKind.BUDGET_RAISED,
    EventKind.WORKTREE_REQUESTED,
    EventKind.WORKTREE_SPAWNED,
    EventKind.WORKTREE_REMOVED,
    EventKind.WORK_COMMITTED,
    EventKind.INTEGRATION_STARTED,
    EventKind.INTEGRATION_JUDGED,
    EventKind.INTEGRATION_STOPPED,
    EventKind.PLAN_INTEGRATED,
}
"""What another event of the same append says, or what is no news of the work."""
JUDGED = {EventKind.CONTRACT_STARTED, EventKind.CONTRACT_EVALUATED}


def record(
    kind: EventKind,
    *,
    task: str | None = None,
    provenance: Provenance = Provenance.LIVE,
    **details: Json,
) -> Record:
    draft = Draft(
        id="x",
        timestamp="2026-11-15T09:00:00.000000Z",
        event=kind,
        plan="hello",
        task_id=task,
        task_name="Say it" if task else None,
        details=details,
        provenance=provenance,
        redactions=0,
    )
    return Record(seq=1, plan_seq=1, draft=draft, prev="", hash="", version=1)


def line(kind: EventKind, *, task: str | None = None, **details: Json) -> str | None:
    return ProgressLines().line(record(kind, task=task, provenance=Provenance.LIVE, **details))


def test_of_every_event_somebody_decided_whether_it_is_read() -> None:
    assert {*_LINES, *JUDGED} | SILENT == set(EventKind)
    assert not {*_LINES, *JUDGED} & SILENT


@pytest.mark.parametrize("kind", list(EventKind))
def test_no_event_without_details_breaks_a_line(kind: EventKind) -> None:
    line(kind)
    line(kind, task="say-it")
    assert ProgressLines().line(record(kind, provenance=Provenance.REPLAY)) is None


def test_lines_say_what_it_is_about_who_it_was_and_why() -> None:
    assert (
        line(EventKind.TASK_SKIPPED, task="t", number="2", by="mara", reason="not needed")
        == "step 2 skipped by mara: not needed"
    )
    assert (
        line(EventKind.WAIVED, subject="postcondition", number="1", by="mara", reason="so")
        == "postcondition 1 waived by mara: so"
    )
    assert (
        line(EventKind.RECOVERY_ESCALATION, task="t", number="2", user_decision="retry", by="mara")
        == "step 2 answered by mara: retry"
    )
    assert line(EventKind.EXECUTION_PAUSED, reason="waiting") is None
    assert line(EventKind.TASK_STARTED, task="t", number="1", run="r") is None
    assert line(EventKind.TASK_STARTED, task="t", number="1") == "step 1 begun: Say it"


def test_a_verdict_is_read_where_an_agent_in_the_loop_waits_for_it() -> None:
    lines = ProgressLines()
    failed = record(
        EventKind.CONTRACT_EVALUATED,
        task="t",
        subject="step",
        number="1",
        verdict="fail",
        reason="exit 1",
    )
    assert lines.line(failed) is None
    lines.line(record(EventKind.CONTRACT_STARTED, task="t", subject="step", number="1"))
    assert lines.line(failed) == "step 1 judged: fail: exit 1"
    assert lines.line(failed) is None
