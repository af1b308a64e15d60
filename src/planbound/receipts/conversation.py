"""What people were asked about a plan, and what they said: the history of its inbox."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from planbound.journal.event import (
    Attested,
    BudgetRaised,
    GateApprovalRequested,
    GateApproved,
    GateClarificationAsked,
    GateRejected,
    RecoveryEscalation,
    TaskSkipped,
    Waived,
    number_of,
    subject_of,
)
from planbound.journal.record import Record
from planbound.state.plan import PlanState


class QuestionStory(Struct):
    """Something that a person was asked, or decided, and what came of it."""

    when: str
    kind: str
    about: str
    asked: str
    answers: list[tuple[str, str, str]] = []
    """When, by whom, and what was said."""
    open: bool = False
    """Whether it waits still."""


def about_words(record: Record) -> str:
    """Return what an event is about: `step 2`, `postcondition 1`, `the plan`."""
    number, subject = number_of(record.event), subject_of(record.event)
    if record.draft.task_id is not None:
        return f"step {number}" if number is not None else f"step {record.draft.task_id}"
    return f"{subject.value} {number}" if subject is not None and number is not None else "the plan"


def questions_of(records: Iterable[Record], state: PlanState) -> Iterator[QuestionStory]:
    """Yield what people were asked, and what they decided by themselves, in its order."""
    found: dict[str, QuestionStory] = {}
    for record in records:
        _hear(found, record)
    for key, question in found.items():
        question.open = key in state.questions.open
        yield question


def _hear(found: dict[str, QuestionStory], record: Record) -> None:
    event, when = record.event, record.draft.timestamp
    about, key = about_words(record), record.draft.id[:8]
    match event:
        case RecoveryEscalation(escalation=str(name)):
            if event.user_decision is None:
                kind = event.kind.value if event.kind is not None else "failure"
                found[name] = QuestionStory(when, kind, about, event.reason)
            elif name in found:
                said = (
                    f"{event.user_decision.value}{f': {event.guidance}' if event.guidance else ''}"
                )
                found[name].answers.append((when, event.by or "", said))
        case GateClarificationAsked(answer=None):
            found[key] = QuestionStory(when, "clarification", about, event.question)
        case GateClarificationAsked():
            asked = [each for each in found.values() if each.kind == "clarification"]
            asked = [found[event.answers]] if event.answers in found else asked
            for each in asked[-1:]:
                each.answers.append((when, event.by or "", event.answer or ""))
        case GateApprovalRequested(reminder=None):
            words = f"approval of the text with the digest {event.digest[:12]}"
            found[key] = QuestionStory(when, "approval", about, words)
        case GateApproved() | GateRejected():
            _decided(found, when, event)
        case Waived() | Attested() | BudgetRaised() | TaskSkipped():
            answer = (when, event.by or "", decision_words(event))
            asked = [each for each in found.values() if each.about == about and not each.answers]
            if asked:
                asked[-1].answers.append(answer)
            else:
                found[key] = QuestionStory(when, "decision", about, "", [answer])
        case _:
            pass


def _decided(
    found: Mapping[str, QuestionStory], when: str, event: GateApproved | GateRejected
) -> None:
    asked = [each for each in found.values() if each.kind == "approval"]
    if asked:
        said = "approved" if isinstance(event, GateApproved) else "rejected"
        why = f": {event.reason}" if event.reason else ""
        asked[-1].answers.append((when, event.by or "", f"{said}{why}"))


def decision_words(event: Waived | Attested | BudgetRaised | TaskSkipped) -> str:
    """Return in words what a person decided."""
    match event:
        case Waived():
            return f"waived: {event.reason}"
        case Attested():
            return f"attested: {event.statement}"
        case TaskSkipped():
            return f"skipped{f': {event.reason}' if event.reason else ''}"
        case BudgetRaised():
            more = raise_words(event.tokens, event.dollars, event.seconds)
            return f"raised the budget by {more}"


def raise_words(tokens: int | None, dollars: str | None, seconds: float | None) -> str:
    """Return in words how much more may be spent."""
    more = (
        f"{tokens:,} tokens" if tokens else "",
        f"${dollars}" if dollars else "",
        f"{seconds:g} s" if seconds else "",
    )
    return ", ".join(each for each in more if each)
