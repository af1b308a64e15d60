"""What a second person reads about a plan: a line for each event that tells something.

Made from events alone, which hold no secrets. What is said elsewhere in the same append, or is
only the machinery's business, has no line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planbound.engine.judging.proof import held, why_held
from planbound.journal.event import EventKind
from planbound.journal.record import Json, Provenance, Record

_Details = Mapping[str, Json]
_MOST = 3
"""So many of the things that are missing are named."""

_CONDITIONS = {"precondition": "holds", "postcondition": "verified"}
"""What a pass makes of it, where nothing says more."""


def may_begin(record: Record) -> bool:
    """Say whether what is read about a plan may begin with an event's line.

    To be asked is no more than a look, and who only looks makes no files.
    """
    return record.draft.event is not EventKind.GATE_APPROVAL_REQUESTED


def is_drafted(record: Record) -> bool:
    """Say whether an event is that somebody's tool writes a plan."""
    return record.draft.event is EventKind.PLAN_CREATED


class ProgressLines:
    """Turns events into lines; of contracts of a loop it remembers which ones run."""

    def __init__(self) -> None:
        self._announced: set[tuple[str, str, str]] = set()

    def line(self, record: Record) -> str | None:
        """Return what is to be read about an event; None where there is nothing to be read."""
        draft = record.draft
        if not draft.plan or draft.provenance is not Provenance.LIVE:
            return None
        kind, details = draft.event, draft.details
        subject = (draft.plan, str(details.get("subject")), str(details.get("number")))
        if kind is EventKind.CONTRACT_STARTED:
            self._announced.add(subject)
            return None
        if kind is EventKind.CONTRACT_EVALUATED:
            # In a run the failure has an event of its own; who only has a look reads it there.
            in_loop = subject in self._announced
            self._announced.discard(subject)
            if in_loop:
                return _judged(record)
            return _passed(record) if details.get("run") else None
        make = _LINES.get(kind)
        return make(record) if make is not None else None


def _text(details: _Details, name: str) -> str:
    value = details.get(name)
    return value if isinstance(value, str) else ""


def _because(details: _Details, name: str = "reason") -> str:
    said = _text(details, name).strip()
    return f": {said}" if said else ""


def _by(details: _Details) -> str:
    name = _text(details, "by")
    return f" by {name}" if name else ""


def _what(record: Record) -> str:
    """Return what an event is about: `step 2`, `postcondition 1`, `the plan`."""
    draft = record.draft
    number = draft.details.get("number")
    if draft.task_id is not None:
        return f"step {number}" if number is not None else f"step `{draft.task_id}`"
    subject = _text(draft.details, "subject")
    return f"{subject} {number}" if subject and number is not None else "the plan"


def _title(record: Record) -> str:
    return f": {record.draft.task_name}" if record.draft.task_name else ""


def _created(record: Record) -> str | None:
    details = record.draft.details
    count, origin = details.get("task_count"), _text(details, "origin")
    steps = "1 step" if count == 1 else f"{count} steps"
    if origin == "file":
        return None  # to look at a plan changes nothing in the workspace
    return f"draft of {steps} written by `{origin}`"


def _rewritten(record: Record) -> str:
    details = record.draft.details
    return f"drafted anew{_by(details)}{_because(details)}"


def _edited(record: Record) -> str:
    status = _text(record.draft.details, "status")
    return f"changed in its file, by unknown hands{f': {status} now' if status else ''}"


def _amended(record: Record) -> str:
    details = record.draft.details
    return f"amended{_by(details)}: revision {details.get('revision')}{_because(details)}"


def _approved(record: Record) -> str:
    details = record.draft.details
    changes = details.get("modifications")
    changed = ", ".join(map(str, changes)) if isinstance(changes, list) else ""
    where = ", in the client of an agent" if details.get("method") == "elicitation" else ""
    line = f"approved{_by(details)}{where}{f', with {changed}' if changed else ''}"
    for name, words in (("seen", "seen:"), ("missing_tools", "not there:")):
        found = details.get(name)
        if isinstance(found, list) and found:
            line += f"; {words} {', '.join(map(str, found))}"
    return line


def _rejected(record: Record) -> str:
    details = record.draft.details
    return f"rejected{_by(details)}{_because(details) or ', without a reason'}"


def _asked(record: Record) -> str:
    details = record.draft.details
    if answer := _text(details, "answer"):
        return f"question answered{_by(details)}: {answer}"
    return f"question{_by(details)}: {_text(details, 'question')}"


def _begun(record: Record) -> str:
    details = record.draft.details
    text = "the run went on" if details.get("resumed") else "a run began"
    unproved = _text(details, "anyway")
    return f"{text}, although not proved is {unproved}" if unproved else text


def _started(record: Record) -> str | None:
    details = record.draft.details
    # In a run the end of an attempt says enough.
    return None if details.get("run") else f"{_what(record)} begun{_title(record)}"


def _completed(record: Record) -> str:
    details = record.draft.details
    result = _text(details, "result")
    word = held(details.get("reason")) if result == "holds" else result
    return f"{_what(record)} {word}{_title(record)}"


def _failed(record: Record) -> str:
    return f"{_what(record)} failed for good{_because(record.draft.details, 'error_message')}"


def _detected(record: Record) -> str:
    details = record.draft.details
    attempt = details.get("attempt")
    which = f", attempt {attempt}" if record.draft.task_id is not None and attempt else ""
    return f"{_what(record)}{which}, failed{_because(details, 'error_message')}"


def _skipped(record: Record) -> str:
    details = record.draft.details
    return f"{_what(record)} skipped{_by(details)}{_because(details)}"


def _blocked(record: Record) -> str:
    return f"{_what(record)} is said to be blocked{_because(record.draft.details)}"


def _reopened(record: Record) -> str:
    return f"{_what(record)} is open again{_because(record.draft.details)}"


def _claimed(record: Record) -> str:
    details = record.draft.details
    before = record.draft.event is EventKind.PRECONDITION_CLAIMED
    name = "precondition" if before else "postcondition"
    return f"{name} {details.get('number')} claimed{_because(details, 'evidence')}"


def _cannot(record: Record) -> str:
    details = record.draft.details
    return f"postcondition {details.get('number')} is said to be blocked{_because(details)}"


def _judged(record: Record) -> str | None:
    details = record.draft.details
    verdict = _text(details, "verdict")
    if verdict == "pass":
        return _passed(record)
    return f"{_what(record)} judged: {verdict}{_because(details)}"


def _passed(record: Record) -> str | None:
    """Return what a pass makes of a condition; of a step another event says it."""
    details = record.draft.details
    subject, result = _text(details, "subject"), _text(details, "result")
    if _text(details, "verdict") != "pass" or subject not in _CONDITIONS:
        return None
    if result == "holds":
        return f"{_what(record)} {held(why_held(details.get('baseline')))}"
    return f"{_what(record)} {result or _CONDITIONS[subject]}"


def _requested(record: Record) -> str:
    details = record.draft.details
    if details.get("reminder"):
        return "approval is still waited for"
    digest = _text(details, "digest")[:12]
    return f"approval asked for{f': digest {digest}' if digest else ''}"


def _escalated(record: Record) -> str:
    details = record.draft.details
    decision = details.get("user_decision")
    if decision is None:
        key = _text(details, "escalation")
        asked = f" (question {key})" if key else ""
        return f"{_what(record)} waits for a person{asked}{_because(details)}"
    return f"{_what(record)} answered{_by(details)}: {decision}{_because(details, 'guidance')}"


def _waived(record: Record) -> str:
    details = record.draft.details
    return f"{_what(record)} waived{_by(details)}{_because(details)}"


def _attested(record: Record) -> str:
    details = record.draft.details
    return f"{_what(record)} attested{_by(details)}{_because(details, 'statement')}"


def _missing(details: _Details) -> str:
    found = details.get("missing")
    listed = [str(each) for each in found] if isinstance(found, list) else []
    more = f"; and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return "; ".join(listed[:_MOST]) + more


def _refused(record: Record) -> str:
    return f"the agent said that it is done, and is not: {_missing(record.draft.details)}"


def _capped(record: Record) -> str:
    return f"the agent ended, and the plan is not done: {_missing(record.draft.details)}"


def _accepted(record: Record) -> str:
    return f"the agent ended: {_text(record.draft.details, 'outcome') or 'done'}"


def _released(record: Record) -> str:
    details = record.draft.details
    return f"the agent was let go{_by(details)}{_because(details)}"


def _taken(record: Record) -> str:
    details = record.draft.details
    return f"taken from {_text(details, 'holder') or 'its runner'}{_by(details)}{_because(details)}"


def _paused(record: Record) -> str | None:
    reason = _text(record.draft.details, "reason")
    return None if reason == "waiting" else f"the run stopped: {reason}"


def _cancelled(record: Record) -> str:
    details = record.draft.details
    return f"the run was cancelled{_by(details)}{_because(details)}"


def _ended(record: Record) -> str:
    details = record.draft.details
    counted = ", ".join(
        f"{details.get(name)} {word}"
        for name, word in (
            ("completed", "proved"),
            ("holds", "hold"),
            ("attested", "attested"),
            ("waived", "waived"),
            ("skipped", "skipped"),
            ("failed", "failed"),
        )
        if details.get(name)
    )
    end = f"the run ended: {_text(details, 'status') or 'failed'}"
    return f"{end}{f', {counted}' if counted else ''}{_because(details)}"


_LINES: Mapping[EventKind, Callable[[Record], str | None]] = {
    EventKind.PLAN_CREATED: _created,
    EventKind.PLAN_REWRITTEN: _rewritten,
    EventKind.PLAN_EDITED: _edited,
    EventKind.PLAN_AMENDED: _amended,
    EventKind.PLAN_ACTIVATED: lambda _: "taken from the queue into work",
    EventKind.GATE_APPROVAL_REQUESTED: _requested,
    EventKind.GATE_APPROVED: _approved,
    EventKind.GATE_REJECTED: _rejected,
    EventKind.GATE_CLARIFICATION_ASKED: _asked,
    EventKind.EXECUTION_STARTED: _begun,
    EventKind.TASK_STARTED: _started,
    EventKind.TASK_COMPLETED: _completed,
    EventKind.TASK_FAILED: _failed,
    EventKind.TASK_SKIPPED: _skipped,
    EventKind.TASK_BLOCKED: _blocked,
    EventKind.TASK_REOPENED: _reopened,
    EventKind.PRECONDITION_CLAIMED: _claimed,
    EventKind.POSTCONDITION_CLAIMED: _claimed,
    EventKind.POSTCONDITION_BLOCKED: _cannot,
    EventKind.FAILURE_DETECTED: _detected,
    EventKind.RECOVERY_ESCALATION: _escalated,
    EventKind.WAIVED: _waived,
    EventKind.ATTESTED: _attested,
    EventKind.FINALIZATION_REJECTED: _refused,
    EventKind.FINALIZATION_CAPPED: _capped,
    EventKind.FINALIZATION_ACCEPTED: _accepted,
    EventKind.SESSION_RELEASED: _released,
    EventKind.LEASE_RELEASED: _taken,
    EventKind.EXECUTION_PAUSED: _paused,
    EventKind.EXECUTION_CANCELLED: _cancelled,
    EventKind.EXECUTION_COMPLETE: _ended,
}
