"""What a second person reads about a plan: a line for each event that tells something.

Made from events alone, which hold no secrets. What is said elsewhere in the same append, or is
only the machinery's business, has no line.
"""

from __future__ import annotations

from planbound.journal.event import (
    Attested,
    ContractEvaluated,
    ContractStarted,
    Event,
    EventKind,
    ExecutionCancelled,
    ExecutionComplete,
    ExecutionPaused,
    ExecutionStarted,
    FailureDetected,
    FinalizationAccepted,
    FinalizationCapped,
    FinalizationDeferred,
    FinalizationRejected,
    GateApprovalRequested,
    GateApproved,
    GateClarificationAsked,
    GateRejected,
    LeaseReleased,
    PlanActivated,
    PlanAmended,
    PlanCreated,
    PlanEdited,
    PlanRewritten,
    PostconditionBlocked,
    PostconditionClaimed,
    PreconditionClaimed,
    RecoveryEscalation,
    Result,
    RunOutcome,
    SessionOutcome,
    SessionReleased,
    TaskBlocked,
    TaskCompleted,
    TaskFailed,
    TaskReopened,
    TaskSkipped,
    TaskStarted,
    VerdictKind,
    Waived,
    number_of,
    subject_of,
)
from planbound.journal.record import Provenance, Record
from planbound.journal.words import Method, SubjectKind
from planbound.state.step import held, why_held

_MOST = 3
"""So many of the things that are missing are named."""

_CONDITIONS = {SubjectKind.PRECONDITION: "holds", SubjectKind.POSTCONDITION: "verified"}
"""What a pass makes of it, where nothing says more."""


def may_begin(record: Record) -> bool:
    """Say whether what is read about a plan may begin with an event's line.

    To be asked is no more than a look, and who only looks makes no files.
    """
    return record.kind is not EventKind.GATE_APPROVAL_REQUESTED


def is_drafted(record: Record) -> bool:
    """Say whether an event is that somebody's tool writes a plan."""
    return record.kind is EventKind.PLAN_CREATED


class ProgressLines:
    """Turns events into lines; of contracts of a loop it remembers which ones run."""

    def __init__(self) -> None:
        self._announced: set[tuple[str, str, str]] = set()

    def line(self, record: Record) -> str | None:
        """Return what is to be read about an event; None where there is nothing to be read."""
        draft = record.draft
        if not draft.plan or draft.provenance is not Provenance.LIVE:
            return None
        event = record.event
        if isinstance(event, ContractStarted | ContractEvaluated):
            return self._contract(record, event)
        for say in (_of_plan, _of_step, _of_session):
            if (line := say(record, event)) is not None:
                return line
        return None

    def _contract(self, record: Record, event: ContractStarted | ContractEvaluated) -> str | None:
        subject = (record.draft.plan, str(event.subject), str(event.number))
        if isinstance(event, ContractStarted):
            self._announced.add(subject)
            return None
        # In a run the failure has an event of its own; who only has a look reads it there.
        in_loop = subject in self._announced
        self._announced.discard(subject)
        if in_loop and event.verdict is not VerdictKind.PASS:
            return f"{_what(record)} judged: {event.verdict.value}{_because(event.reason)}"
        return _passed(record, event) if in_loop or event.run else None


def _because(reason: str | None) -> str:
    said = (reason or "").strip()
    return f": {said}" if said else ""


def _by(name: str | None) -> str:
    return f" by {name}" if name else ""


def _what(record: Record) -> str:
    """Return what an event is about: `step 2`, `postcondition 1`, `the plan`."""
    task, number = record.draft.task_id, number_of(record.event)
    if task is not None:
        return f"step {number}" if number is not None else f"step `{task}`"
    subject = subject_of(record.event)
    return f"{subject} {number}" if subject and number is not None else "the plan"


def _title(record: Record) -> str:
    return f": {record.draft.task_name}" if record.draft.task_name else ""


def _of_plan(_record: Record, event: Event) -> str | None:  # noqa: PLR0911 - one for each kind
    """Return the line of what happened to a plan, and at its gate."""
    match event:
        case PlanCreated():
            return _created(event)
        case PlanRewritten():
            return f"drafted anew{_by(event.by)}{_because(event.reason)}"
        case PlanEdited(status=status):
            return f"changed in its file, by unknown hands{f': {status} now' if status else ''}"
        case PlanAmended():
            why = _because(event.reason)
            return f"amended{_by(event.by)}: revision {event.revision}{why}"
        case PlanActivated():
            return "taken from the queue into work"
        case GateApprovalRequested() if event.reminder:
            return "approval is still waited for"
        case GateApprovalRequested(digest=digest):
            return f"approval asked for{f': digest {digest[:12]}' if digest else ''}"
        case GateApproved():
            return _approved(event)
        case GateRejected():
            return f"rejected{_by(event.by)}{_because(event.reason) or ', without a reason'}"
        case GateClarificationAsked() if event.answer:
            return f"question answered{_by(event.by)}: {event.answer}"
        case GateClarificationAsked():
            return f"question{_by(event.by)}: {event.question}"
        case _:
            return None


def _created(event: PlanCreated) -> str | None:
    steps = "1 step" if event.task_count == 1 else f"{event.task_count} steps"
    if event.origin == "file":
        return None  # to look at a plan changes nothing in the workspace
    return f"draft of {steps} written by `{event.origin or ''}`"


_WHERE = {Method.ELICITATION: ", in the client of an agent", Method.PAGE: ", on the page"}


def _approved(event: GateApproved) -> str:
    changed = ", ".join(event.modifications)
    where = _WHERE.get(event.method, "") if event.method is not None else ""
    line = f"approved{_by(event.by)}{where}{f', with {changed}' if changed else ''}"
    for found, words in ((event.seen, "seen:"), (event.missing_tools, "not there:")):
        if found:
            line += f"; {words} {', '.join(found)}"
    return line


def _of_step(record: Record, event: Event) -> str | None:  # noqa: PLR0911 - one for each kind
    """Return the line of what happened to a step or a condition."""
    what = _what(record)
    match event:
        case TaskStarted():
            # In a run the end of an attempt says enough.
            return None if event.run else f"{what} begun{_title(record)}"
        case TaskCompleted(result=result):
            word = held(event.reason) if result is Result.HOLDS else result.value
            return f"{what} {word}{_title(record)}"
        case TaskFailed():
            return f"{what} failed for good{_because(event.error_message)}"
        case FailureDetected(attempt=attempt):
            which = f", attempt {attempt}" if record.draft.task_id is not None and attempt else ""
            return f"{what}{which}, failed{_because(event.error_message)}"
        case TaskSkipped():
            return f"{what} skipped{_by(event.by)}{_because(event.reason)}"
        case TaskBlocked():
            return f"{what} is said to be blocked{_because(event.reason)}"
        case TaskReopened():
            return f"{what} is open again{_because(event.reason)}"
        case RecoveryEscalation():
            return _escalated(what, event)
        case Waived():
            return f"{what} waived{_by(event.by)}{_because(event.reason)}"
        case Attested():
            return f"{what} attested{_by(event.by)}{_because(event.statement)}"
        case _:
            return None


def _of_session(_record: Record, event: Event) -> str | None:  # noqa: PLR0911 - one for each kind
    """Return the line of what happened to a run, or to an agent in the loop."""
    match event:
        case PreconditionClaimed(number=number, evidence=evidence):
            return f"precondition {number} claimed{_because(evidence)}"
        case PostconditionClaimed(number=number, evidence=evidence):
            return f"postcondition {number} claimed{_because(evidence)}"
        case PostconditionBlocked(number=number, reason=reason):
            return f"postcondition {number} is said to be blocked{_because(reason)}"
        case FinalizationDeferred(waits_for=what):
            return f"the agent stopped while something of its own ran: {what}"
        case FinalizationRejected(missing=missing):
            return f"the agent said that it is done, and is not: {_missing(missing)}"
        case FinalizationCapped(missing=missing):
            return f"the agent ended, and the plan is not done: {_missing(missing)}"
        case FinalizationAccepted(outcome=outcome):
            return f"the agent ended: {(outcome or SessionOutcome.DONE).value}"
        case SessionReleased():
            return f"the agent was let go{_by(event.by)}{_because(event.reason)}"
        case LeaseReleased():
            taken = f"taken from {event.holder or 'its runner'}"
            return f"{taken}{_by(event.by)}{_because(event.reason)}"
        case _:
            return _of_run(event)


def _of_run(event: Event) -> str | None:
    match event:
        case ExecutionStarted():
            text = "the run went on" if event.resumed else "a run began"
            return f"{text}, although not proved is {event.anyway}" if event.anyway else text
        case ExecutionPaused():
            return None if event.is_waiting else f"the run stopped: {event.reason}"
        case ExecutionCancelled():
            return f"the run was cancelled{_by(event.by)}{_because(event.reason)}"
        case ExecutionComplete():
            return _ended(event)
        case _:
            return None


def _passed(record: Record, event: ContractEvaluated) -> str | None:
    """Return what a pass makes of a condition; of a step another event says it."""
    usual = _CONDITIONS.get(event.subject) if event.subject is not None else None
    if event.verdict is not VerdictKind.PASS or usual is None:
        return None
    if event.result is Result.HOLDS:
        return f"{_what(record)} {held(why_held(event.baseline))}"
    return f"{_what(record)} {event.result.value if event.result else usual}"


def _escalated(what: str, event: RecoveryEscalation) -> str:
    if event.user_decision is None:
        asked = f" (question {event.escalation})" if event.escalation else ""
        return f"{what} waits for a person{asked}{_because(event.reason)}"
    return f"{what} answered{_by(event.by)}: {event.user_decision}{_because(event.guidance)}"


def _missing(listed: tuple[str, ...]) -> str:
    more = f"; and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return "; ".join(listed[:_MOST]) + more


def _ended(event: ExecutionComplete) -> str:
    counts = (
        (event.completed, "proved"),
        (event.holds, "hold"),
        (event.attested, "attested"),
        (event.waived, "waived"),
        (event.skipped, "skipped"),
        (event.failed, "failed"),
    )
    counted = ", ".join(f"{count} {word}" for count, word in counts if count)
    end = f"the run ended: {(event.status or RunOutcome.FAILED).value}"
    return f"{end}{f', {counted}' if counted else ''}{_because(event.reason)}"
