"""What waits for a person, and what can be answered."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from planbound.journal.event import (
    BudgetRaised,
    Event,
    EventKind,
    ExecutionComplete,
    FinalizationAccepted,
    FinalizationCapped,
    GateApprovalRequested,
    GateClarificationAsked,
    IntegrationStopped,
    PlanVerified,
    RecoveryEscalation,
    SessionReleased,
    TaskStarted,
    number_of,
    subject_of,
)
from planbound.journal.record import Record
from planbound.journal.words import Choice, FailureClass, QuestionKind, QuestionSubject
from planbound.source import lazy_pattern
from planbound.state.approval import is_noticed

# -- what a run asks a person, and what can be answered ------------------------------------------


_KNOWN = frozenset(QuestionKind)
"""What this version can be asked for."""


class ApprovalRequest(NamedTuple):
    """How a person was asked to approve."""

    id: str
    """Of the event that asked first."""
    asked: str
    """When it was asked last."""
    event: GateApprovalRequested


class Question(Struct, frozen=True):
    """Something that waits in the inbox."""

    id: str
    plan: str
    kind: QuestionKind
    reason: str
    since: str
    task_id: str | None = None
    title: str | None = None
    number: str | None = None
    subject: QuestionSubject | None = None
    choices: tuple[Choice, ...] = ()
    leaves_out: tuple[str, ...] = ()
    """The steps that `skip` leaves out, too: they depend on this one."""
    failure_type: FailureClass | None = None
    exhausted: bool = False
    output_tail: str = ""
    agent_tail: str = ""
    """The end of what the agent printed, where that is not the output itself."""
    diff: str = ""
    reminders: int = 0
    question: str = ""
    """What the recipe asks in words of its own; the reason begins with it."""
    digest: str | None = None
    """Of a question of the gate: the text that it is about."""
    request: ApprovalRequest | None = None
    """Of an approval that is asked for."""
    line: int | None = None
    """Of a comment on a plan: the line that it is about."""
    quoted: str = ""
    """What stood in that line."""
    seq: int = 0
    """The number of the event that asked."""


def question_of(record: Record, event: RecoveryEscalation) -> Question | None:
    """Return the question that an event asks."""
    if event.escalation is None:
        return None
    return Question(
        id=event.escalation,
        plan=record.draft.plan,
        kind=event.kind if event.kind in _KNOWN else QuestionKind.FAILURE,
        reason=event.reason,
        since=record.draft.timestamp,
        task_id=record.draft.task_id,
        title=record.draft.task_name,
        number=event.number,
        subject=event.subject,
        choices=event.choices or (),
        leaves_out=event.leaves_out or (),
        failure_type=event.failure_type,
        exhausted=bool(event.exhausted),
        output_tail=event.output_tail or "",
        agent_tail=event.agent_tail or "",
        diff=event.diff or "",
        question=event.question or "",
        seq=record.seq,
    )


# -- the part of a plan's state: what waits for a person -----------------------------------------


ID_LENGTH = 8
_GATE = frozenset({QuestionKind.APPROVAL, QuestionKind.CLARIFICATION})
_WHOLE_PLAN = _GATE | {QuestionKind.INCOMPLETE}
_OWN_WORD = _WHOLE_PLAN | {QuestionKind.INTEGRATION, QuestionKind.PERMISSION}
_NOT_OF_A_RUN = _GATE | {QuestionKind.INTEGRATION}
"""What the end of a run leaves open."""
_NOT_BY_A_RUN = _WHOLE_PLAN | {QuestionKind.INTEGRATION}
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
_ASKING = frozenset(
    {
        EventKind.GATE_APPROVAL_REQUESTED,
        EventKind.GATE_CLARIFICATION_ASKED,
        EventKind.PLAN_VERIFIED,
        EventKind.TASK_STARTED,
        EventKind.RECOVERY_ESCALATION,
        EventKind.BUDGET_RAISED,
        EventKind.FINALIZATION_CAPPED,
        EventKind.FINALIZATION_ACCEPTED,
        EventKind.SESSION_RELEASED,
        EventKind.EXECUTION_COMPLETE,
    }
)
_CAN_ASK = frozenset(
    {
        EventKind.GATE_APPROVAL_REQUESTED,
        EventKind.GATE_CLARIFICATION_ASKED,
        EventKind.RECOVERY_ESCALATION,
        EventKind.FINALIZATION_CAPPED,
        EventKind.INTEGRATION_STOPPED,
    }
)
"""All others only take questions back."""
KINDS = (*_CLEARING, *_SETTLED, *_MERGING, *_ASKING)
"""The events that matter here."""


_About = tuple[str | None, QuestionSubject | None, str | None]
"""A step, what else it is about, and its number."""


class Questions(Struct):
    """The questions of one plan that nobody has answered."""

    open: dict[str, Question] = field(default_factory=dict)
    """By their ids, the oldest first."""
    settled: int = 0
    """The number of the event that settled last whether the plan may begin, in whatever way."""

    @property
    def word(self) -> str | None:
        """What a person is asked, what concerns the whole plan first."""
        return waits_for(self.open)

    @property
    def words(self) -> tuple[str, ...]:
        """All that a person is asked, each with what it is about; empty for one question."""
        return all_waits(self.open)

    @property
    def of_run(self) -> dict[str, Question]:
        """What a run asks."""
        return {key: each for key, each in self.open.items() if each.kind not in _NOT_BY_A_RUN}

    def of(self, kind: QuestionKind) -> Question | None:
        """Return the question of a kind, where one is open."""
        return next((each for each in self.open.values() if each.kind is kind), None)

    def apply(self, record: Record, event: Event) -> None:
        """Add one event of `KINDS`."""
        if not self.open and record.draft.kind not in _CAN_ASK:
            return
        was_asked = self.of(QuestionKind.APPROVAL) is not None
        _note(self.open, record, event)
        if was_asked and self.of(QuestionKind.APPROVAL) is None:
            self.settled = record.seq


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


def _note(questions: dict[str, Question], record: Record, event: Event) -> None:
    if record.kind in _CLEARING:
        # An approval begins a new run: what the last one asked is moot.
        if not is_noticed(event):
            questions.clear()
    elif record.kind in _SETTLED:
        word = subject_of(event)
        subject = None if word is None else QuestionSubject(word.value)
        about = (record.draft.task_id, subject, number_of(event))
        _drop(questions, lambda each: _is_about(each, about))
    elif record.kind in _MERGING:
        _merging(questions, record, event)
    else:
        _hear(questions, record, event)


def _hear(questions: dict[str, Question], record: Record, event: Event) -> None:
    match event:
        case GateApprovalRequested():
            _approval(questions, record, event)
        case GateClarificationAsked(answer=None):
            key = _add(questions, record, QuestionKind.CLARIFICATION, event.question, event.digest)
            quoted = event.quoted or ""
            questions[key] = replace(questions[key], line=event.line, quoted=quoted)
        case GateClarificationAsked():
            _drop(questions, lambda each: _is_answered(each, event))
            _asked_again(questions, record)
        case PlanVerified(digest=str(digest)):
            _another_text(questions, digest)
        case TaskStarted():
            _at_work(questions, event.digest)
        case RecoveryEscalation():
            _escalation(questions, record, event)
        case BudgetRaised():
            _drop(questions, lambda each: each.kind is QuestionKind.BUDGET)
        case FinalizationCapped():
            _drop(questions, lambda each: each.kind is QuestionKind.INCOMPLETE)
            _add(questions, record, QuestionKind.INCOMPLETE, _incomplete(event.missing))
        case FinalizationAccepted() | SessionReleased():
            _drop(questions, lambda each: each.kind is not QuestionKind.INTEGRATION)
        case ExecutionComplete():
            _drop(questions, lambda each: each.kind not in _NOT_OF_A_RUN)


def _is_answered(question: Question, event: GateClarificationAsked) -> bool:
    """Say whether an answer is to this question; older ones are to all of them."""
    about = question.kind is QuestionKind.CLARIFICATION
    return about and event.answers in {None, question.id}


def _another_text(questions: dict[str, Question], verified: str) -> None:
    """Take back what was asked about a text that is not the plan's any more."""
    _drop(questions, lambda each: each.kind in _GATE and each.digest not in {None, verified})


def _at_work(questions: dict[str, Question], begun: str | None) -> None:
    """Take back whether it may begin, and what became of an agent that stopped."""
    moot = None if begun is None else {None, begun}
    _drop(
        questions,
        lambda each: (
            each.kind is QuestionKind.INCOMPLETE
            or (each.kind in _GATE and (moot is None or each.digest in moot))
        ),
    )


def _merging(questions: dict[str, Question], record: Record, event: Event) -> None:
    """Ask about the merge that was tried last, until there is nothing left to merge."""
    _drop(questions, lambda each: each.kind is QuestionKind.INTEGRATION)
    if isinstance(event, IntegrationStopped):
        key = _add(questions, record, QuestionKind.INTEGRATION, event.reason)
        questions[key] = replace(questions[key], output_tail=event.output_tail or "")


def _incomplete(missing: tuple[str, ...]) -> str:
    said = "the agent stopped before it was done"
    more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"{said}: {missing[0]}{more}" if missing else said


def _is_about(question: Question, about: _About) -> bool:
    task, subject, number = about
    if task is not None:
        return question.task_id == task
    if question.task_id is not None or question.subject is not subject:
        return False
    return question.number in {None, number}


def _drop(questions: dict[str, Question], wanted: Callable[[Question], bool]) -> None:
    for key in [key for key, each in questions.items() if wanted(each)]:
        del questions[key]


def _escalation(questions: dict[str, Question], record: Record, event: RecoveryEscalation) -> None:
    question = question_of(record, event)
    if question is None:
        return
    if event.user_decision is None:
        if question.task_id is not None:  # what was asked about the step before is moot
            _drop(questions, lambda each: each.task_id == question.task_id)
        questions[question.id] = question
    else:
        questions.pop(question.id, None)


def _add(
    questions: dict[str, Question],
    record: Record,
    kind: QuestionKind,
    reason: str,
    digest: str | None = None,
) -> str:
    key = record.draft.id[:ID_LENGTH]
    questions[key] = Question(
        id=key,
        plan=record.draft.plan,
        kind=kind,
        reason=reason,
        since=record.draft.timestamp,
        subject=QuestionSubject.PLAN,
        digest=digest,
        seq=record.seq,
    )
    return key


def _approval(questions: dict[str, Question], record: Record, event: GateApprovalRequested) -> None:
    old = next((each for each in questions.values() if each.kind is QuestionKind.APPROVAL), None)
    if old is not None and event.reminder is not None:
        questions[old.id] = replace(old, reminders=event.reminder)
        _asked_again(questions, record)
        return
    _drop(questions, lambda each: each.kind is QuestionKind.APPROVAL)
    reason = f"waits for approval: digest {event.digest[:12]}"
    key = _add(questions, record, QuestionKind.APPROVAL, reason, event.digest)
    request = ApprovalRequest(record.draft.id, record.draft.timestamp, event)
    questions[key] = replace(questions[key], request=request)


def _asked_again(questions: dict[str, Question], record: Record) -> None:
    """Note that whoever is to approve heard of it just now."""
    for key, each in questions.items():
        if each.request is not None:
            request = each.request._replace(asked=record.draft.timestamp)
            questions[key] = replace(each, request=request)


# -- an agent that says that a step cannot be done -----------------------------------------------


SAYS_BLOCKED = "the agent says that it is blocked"
_LOOKED_AT = 20_000
_LONGEST = 500
# At the beginning of a line, in capitals: the prompt itself speaks of the word, too.
_BLOCKED = lazy_pattern(
    r"^[ \t>*_#`-]{0,8}BLOCKED\b[ \t*_`:.—–-]{0,8}([^\r\n]{0,2000})", re.MULTILINE
)


def blocked_reason(output: str) -> str | None:
    """Return why an agent says it cannot do the step; None where it says nothing of the kind."""
    found = None
    for match in _BLOCKED.finditer(output[-_LOOKED_AT:]):
        found = match[1].strip(" *_`")[:_LONGEST] or "without a reason"
    return found
