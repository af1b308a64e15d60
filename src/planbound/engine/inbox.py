"""What waits for a person, over all plans: a fold of the journal.

Every view that tells whether a question is open asks here: there is one list of what opens a
question and what settles it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from planbound.engine.gate.approval import is_noticed
from planbound.engine.run.question import Question, QuestionKind, question_of
from planbound.journal.event import EventKind
from planbound.journal.record import Json, Provenance, Record

ID_LENGTH = 8
_GATE = frozenset({QuestionKind.APPROVAL, QuestionKind.CLARIFICATION})
_WHOLE_PLAN = _GATE | {QuestionKind.INCOMPLETE}
_OWN_WORD = _WHOLE_PLAN | {QuestionKind.INTEGRATION, QuestionKind.PERMISSION}
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
_CLEARING = frozenset(
    {
        EventKind.GATE_APPROVED,
        EventKind.GATE_REJECTED,
        EventKind.PLAN_REWRITTEN,
        EventKind.PLAN_AMENDED,
        EventKind.PLAN_CREATED,
        EventKind.PLAN_ARCHIVED,
    }
)
_MERGING = frozenset(
    {EventKind.INTEGRATION_STOPPED, EventKind.PLAN_INTEGRATED, EventKind.WORKTREE_REMOVED}
)


def open_questions(records: Iterable[Record]) -> list[Question]:
    """Return the questions that nobody has answered, the oldest first."""
    plans: dict[str, dict[str, Question]] = {}
    for record in records:
        if record.draft.provenance is Provenance.LIVE:
            note(plans.setdefault(record.draft.plan, {}), record)
    found = [question for questions in plans.values() for question in questions.values()]
    return sorted(found, key=lambda question: question.since)


def waits_for(questions: Mapping[str, Question]) -> str | None:
    """Return in a word what a person is asked, what concerns the whole plan first."""
    kinds = [each.kind for each in questions.values()]
    whole = next((kind for kind in kinds if kind in _WHOLE_PLAN), None)
    kind = whole or next(iter(kinds), None)
    if kind is None:
        return None
    return kind.value if kind in _OWN_WORD else "escalation"


def all_waits(questions: Mapping[str, Question]) -> tuple[str, ...]:
    """Return all that a person is asked, each with what it is about; empty for one question."""
    if len(questions) < 2:
        return ()
    return tuple(_waits(each) for each in questions.values())


def _waits(question: Question) -> str:
    word = question.kind.value if question.kind in _OWN_WORD else "escalation"
    about = f"{question.subject} {question.number}" if question.number else ""
    return f"{word} ({about})" if about else word


def is_asked(questions: Mapping[str, Question], kind: QuestionKind = QuestionKind.APPROVAL) -> bool:
    """Say whether a question of a kind is open."""
    return any(each.kind is kind for each in questions.values())


def note(questions: dict[str, Question], record: Record) -> None:
    """Add an event of one plan to its open questions, by their ids."""
    kind = record.draft.event
    if kind in _CLEARING:
        # An approval begins a new run: what the last one asked is moot.
        if not is_noticed(kind, record.draft.details):
            questions.clear()
    elif kind in _SETTLED:
        _settle(questions, record)
    elif kind in _MERGING:
        _merging(questions, record)
    elif handler := _HANDLERS.get(kind):
        handler(questions, record)


def _settle(questions: dict[str, Question], record: Record) -> None:
    details = record.draft.details
    about = (record.draft.task_id, details.get("subject"), details.get("number"))
    _drop(questions, lambda each: _is_about(each, about))


def _raise(questions: dict[str, Question], _record: Record) -> None:
    _drop(questions, lambda each: each.kind is QuestionKind.BUDGET)


def _cap(questions: dict[str, Question], record: Record) -> None:
    _drop(questions, lambda each: each.kind is QuestionKind.INCOMPLETE)
    missing = record.draft.details.get("missing")
    _add(questions, record, QuestionKind.INCOMPLETE, _incomplete(missing))


def _end_session(questions: dict[str, Question], _record: Record) -> None:
    _drop(questions, lambda each: each.kind is not QuestionKind.INTEGRATION)


def _end_run(questions: dict[str, Question], _record: Record) -> None:
    _drop(questions, lambda each: each.kind not in _NOT_OF_A_RUN)


def _another_text(questions: dict[str, Question], record: Record) -> None:
    """Take back what was asked about a text that is not the plan's any more."""
    verified = record.draft.details.get("digest")
    if isinstance(verified, str):
        _drop(questions, lambda each: each.kind in _GATE and each.digest not in {None, verified})


def _at_work(questions: dict[str, Question], record: Record) -> None:
    """Take back whether it may begin, and what became of an agent that stopped."""
    begun = record.draft.details.get("digest")
    moot = {None, begun} if isinstance(begun, str) else None
    _drop(
        questions,
        lambda each: (
            each.kind is QuestionKind.INCOMPLETE
            or (each.kind in _GATE and (moot is None or each.digest in moot))
        ),
    )


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
    digest = record.draft.details.get("digest") if kind in _GATE else None
    questions[key] = Question(
        id=key,
        plan=record.draft.plan,
        kind=kind,
        reason=reason,
        since=record.draft.timestamp,
        subject="plan",
        digest=digest if isinstance(digest, str) else None,
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


_HANDLERS: dict[EventKind, Callable[[dict[str, Question], Record], None]] = {
    EventKind.GATE_APPROVAL_REQUESTED: _approval,
    EventKind.GATE_CLARIFICATION_ASKED: _clarification,
    EventKind.PLAN_VERIFIED: _another_text,
    EventKind.TASK_STARTED: _at_work,
    EventKind.RECOVERY_ESCALATION: _escalation,
    EventKind.BUDGET_RAISED: _raise,
    EventKind.FINALIZATION_CAPPED: _cap,
    EventKind.FINALIZATION_ACCEPTED: _end_session,
    EventKind.SESSION_RELEASED: _end_session,
    EventKind.EXECUTION_COMPLETE: _end_run,
}
KINDS = (*_CLEARING, *_SETTLED, *_MERGING, *_HANDLERS)
"""The events that matter here."""
