"""The lines that a second person reads."""

from __future__ import annotations

from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json, Provenance, Record
from planbound.workspace.progress import ProgressLines, may_begin
from tests.journal import told
from tests.tables import one_fact

SILENT = {
    EventKind.PLAN_VERIFIED,
    EventKind.PLAN_STAGED,
    EventKind.PLAN_ARCHIVED,
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
        kind=kind,
        plan="hello",
        task_id=task,
        task_name="Say it" if task else None,
        details=told(kind, details),
        provenance=provenance,
        redactions=0,
    )
    return Record(seq=1, plan_seq=1, draft=draft, prev="", hash="", version=1)


def line(kind: EventKind, *, task: str | None = None, **details: Json) -> str | None:
    return ProgressLines().line(record(kind, task=task, provenance=Provenance.LIVE, **details))


def test_of_every_event_somebody_decided_whether_it_is_read() -> None:
    assert {kind for kind in EventKind if line(kind) is None} == SILENT | JUDGED


@one_fact("kind", list(EventKind))
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


def test_a_condition_that_passes_is_read_in_the_loop_and_in_a_run() -> None:
    def passed(subject: str, **details: Json) -> Record:
        return record(
            EventKind.CONTRACT_EVALUATED,
            task=None,
            provenance=Provenance.LIVE,
            subject=subject,
            number="1",
            verdict="pass",
            **details,
        )

    lines = ProgressLines()
    for subject, word in (("precondition", "holds"), ("postcondition", "verified")):
        lines.line(record(EventKind.CONTRACT_STARTED, subject=subject, number="1"))
        assert lines.line(passed(subject)) == f"{subject} 1 {word}"
        # Somebody who only has a look reads it there.
        assert lines.line(passed(subject)) is None
    assert lines.line(passed("precondition", run="r")) == "precondition 1 holds"
    proved = passed("postcondition", run="r", result="proved")
    assert lines.line(proved) == "postcondition 1 proved"
    holds = lines.line(passed("postcondition", run="r", result="holds", baseline="pass"))
    assert (holds or "").startswith("postcondition 1 holds (")
    # Of a step another event says it, and a failure has one of its own.
    assert lines.line(passed("step", run="r")) is None
    failed = record(
        EventKind.CONTRACT_EVALUATED, subject="postcondition", number="1", verdict="fail", run="r"
    )
    assert lines.line(failed) is None


def test_that_an_approval_is_asked_for_is_read_where_a_file_was_begun() -> None:
    asked = record(EventKind.GATE_APPROVAL_REQUESTED, digest="0123456789abcdef")
    assert ProgressLines().line(asked) == "approval asked for: digest 0123456789ab"
    again = record(EventKind.GATE_APPROVAL_REQUESTED, digest="0123", reminder=1)
    assert ProgressLines().line(again) == "approval is still waited for"
    assert not may_begin(asked)
    assert may_begin(record(EventKind.GATE_APPROVED, by="mara"))
