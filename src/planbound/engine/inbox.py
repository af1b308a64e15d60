"""What waits for a person, over all plans: a fold of the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planbound.engine.run.question import Question, QuestionKind, question_of
from planbound.journal.event import EventKind
from planbound.journal.record import Json, Provenance, Record

ID_LENGTH = 8
_GATE = frozenset({QuestionKind.APPROVAL, QuestionKind.CLARIFICATION})
_NOT_OF_A_RUN = _GATE | {QuestionKind.INTEGRATION}
_SETTLED = frozenset(
    {
        EventKind.TASK_COMPLETED,
        EventKind.TASK_SKIPPED,
        EventKind.TASK_FAILED,
        EventKind.WAIVED,
        EventKind.ATTESTED,
    }
)
_DECIDED = frozenset(
    {
        EventKind.GATE_APPROVED,
        EventKind.GATE_REJECTED,
        EventKind.PLAN_REWRITTEN,
        EventKind.PLAN_AMENDED,
        EventKind.PLAN_CREATED,
    }
)
_MERGING = frozenset(
    {EventKind.INTEGRATION_STOPPED, EventKind.PLAN_INTEGRATED, EventKind.WORKTREE_REMOVED}
)
KINDS = (
    *_SETTLED,
    *_DECIDED,
    EventKind.GATE_APPROVAL_REQUESTED,
    EventKind.GATE_CLARIFICATION_ASKED,
    EventKind.RECOVERY_ESCALATION,
    EventKind.BUDGET_RAISED,
    EventKind.FINALIZATION_CAPPED,
    EventKind.FINALIZATION_ACCEPTED,
    EventKind.SESSION_RELEASED,
    EventKind.EXECUTION_COMPLETE,
    EventKind.PLAN_ARCHIVED,
    *_MERGING,
)
"""The events that matter here."""


def open_questions(records: Iterable[Record]) -> list[Question]:
    """Return the questions that nobody has answered, the oldest first."""
    plans: dict[str, dict[str, Question]] = {}
    for record in records:
        if record.draft.provenance is Provenance.LIVE:
            _apply(plans.setdefault(record.draft.plan, {}), record)
    found = [question for questions in plans.values() for question in questions.values()]
    return sorted(found, key=lambda question: question.since)


def _apply(questions: dict[str, Question], record: Record) -> None:
    draft = record.draft
    kind, details = draft.event, draft.details
    if kind is EventKind.RECOVERY_ESCALATION:
        _escalation(questions, record)
    elif kind in _SETTLED:
        about = (draft.task_id, details.get("subject"), details.get("number"))
        _drop(questions, lambda each: _is_about(each, about))
    elif kind in _DECIDED:
        questions.clear()  # an approval begins a new run: what the last one asked is moot
    elif kind is EventKind.GATE_APPROVAL_REQUESTED:
        _approval(questions, record)
    elif kind is EventKind.GATE_CLARIFICATION_ASKED:
        _clarification(questions, record)
    elif kind is EventKind.BUDGET_RAISED:
        _drop(questions, lambda each: each.kind is QuestionKind.BUDGET)
    elif kind is EventKind.FINALIZATION_CAPPED:
        _drop(questions, lambda each: each.kind is QuestionKind.INCOMPLETE)
        _add(questions, record, QuestionKind.INCOMPLETE, _incomplete(details.get("missing")))
    elif kind in {EventKind.FINALIZATION_ACCEPTED, EventKind.SESSION_RELEASED}:
        _drop(questions, lambda each: each.kind is QuestionKind.INCOMPLETE)
    elif kind is EventKind.EXECUTION_COMPLETE:
        _drop(questions, lambda each: each.kind not in _NOT_OF_A_RUN)
    elif kind is EventKind.PLAN_ARCHIVED:
        questions.clear()
    elif kind in _MERGING:
        _merging(questions, record)


def _merging(questions: dict[str, Question], record: Record) -> None:
    """Ask about the merge that was tried last, until there is nothing left to merge."""
    _drop(questions, lambda each: each.kind is QuestionKind.INTEGRATION)
    details = record.draft.details
    if record.draft.event is EventKind.INTEGRATION_STOPPED:
        key = _add(questions, record, QuestionKind.INTEGRATION, str(details.get("reason")))
        tail = str(details.get("output_tail") or "")
        questions[key] = questions[key]._replace(output_tail=tail)


def _incomplete(missing: Json) -> str:
    named = [str(each) for each in missing] if isinstance(missing, list) else []
    said = "the agent stopped before it was done"
    more = f", and {len(named) - 1} more" if len(named) > 1 else ""
    return f"{said}: {named[0]}{more}" if named else said


def _is_about(question: Question, about: tuple[object, object, object]) -> bool:
    task, subject, number = about
    if task is not None:
        return question.task_id == task
    return question.task_id is None and (question.subject, question.number) == (subject, number)


def _drop(questions: dict[str, Question], wanted: Callable[[Question], bool]) -> None:
    for key in [key for key, each in questions.items() if wanted(each)]:
        del questions[key]


def _escalation(questions: dict[str, Question], record: Record) -> None:
    question = question_of(record)
    if question is None:
        return
    if record.draft.details.get("user_decision") is None:
        questions[question.id] = question
    else:
        questions.pop(question.id, None)


def _add(questions: dict[str, Question], record: Record, kind: QuestionKind, reason: str) -> str:
    key = record.draft.id[:ID_LENGTH]
    questions[key] = Question(
        id=key,
        plan=record.draft.plan,
        kind=kind,
        reason=reason,
        since=record.draft.timestamp,
        subject="plan",
    )
    return key


def _approval(questions: dict[str, Question], record: Record) -> None:
    details = record.draft.details
    reminder = details.get("reminder")
    old = next((each for each in questions.values() if each.kind is QuestionKind.APPROVAL), None)
    if old is not None and isinstance(reminder, int):
        questions[old.id] = old._replace(reminders=reminder)
        return
    _drop(questions, lambda each: each.kind is QuestionKind.APPROVAL)
    _add(
        questions,
        record,
        QuestionKind.APPROVAL,
        f"waits for approval: digest {str(details.get('digest'))[:12]}",
    )


def _clarification(questions: dict[str, Question], record: Record) -> None:
    details = record.draft.details
    if details.get("answer") is not None:
        _drop(questions, lambda each: each.kind is QuestionKind.CLARIFICATION)
        return
    _add(questions, record, QuestionKind.CLARIFICATION, str(details.get("question")))
