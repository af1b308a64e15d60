"""What a run asks a person, and what can be answered."""

from __future__ import annotations

import enum
from typing import NamedTuple

from planbound.journal.record import Json, Record


class QuestionKind(enum.Enum):
    """Why a person is asked."""

    FAILURE = "failure"
    PERMISSION = "permission"
    BUDGET = "budget"
    ATTESTATION = "attestation"
    CONDITION = "condition"
    REGRESSION = "regression"
    APPROVAL = "approval"
    CLARIFICATION = "clarification"
    INCOMPLETE = "incomplete"
    INTEGRATION = "integration"


class Choice(enum.Enum):
    """What a person can answer to a run."""

    RETRY = "retry"
    SKIP = "skip"
    ABORT = "abort"
    REVISE = "revise"
    RAISE = "raise"


class Question(NamedTuple):
    """Something that waits in the inbox."""

    id: str
    plan: str
    kind: QuestionKind
    reason: str
    since: str
    task_id: str | None = None
    title: str | None = None
    number: str | None = None
    subject: str | None = None
    choices: tuple[str, ...] = ()
    leaves_out: tuple[str, ...] = ()
    """The steps that `skip` leaves out, too: they depend on this one."""
    failure_type: str | None = None
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


def question_of(record: Record) -> Question | None:
    """Return the question that a `RECOVERY_ESCALATION` asks."""
    details = record.draft.details
    key = _text(details.get("escalation"))
    kind = details.get("kind")
    if key is None:
        return None
    kinds = {item.value: item for item in QuestionKind}
    return Question(
        id=key,
        plan=record.draft.plan,
        kind=kinds.get(str(kind), QuestionKind.FAILURE),
        reason=str(details.get("reason") or ""),
        since=record.draft.timestamp,
        task_id=record.draft.task_id,
        title=record.draft.task_name,
        number=_text(details.get("number")),
        subject=_text(details.get("subject")),
        choices=_texts(details.get("choices")),
        leaves_out=_texts(details.get("leaves_out")),
        failure_type=_text(details.get("failure_type")),
        exhausted=bool(details.get("exhausted")),
        output_tail=str(details.get("output_tail") or ""),
        agent_tail=str(details.get("agent_tail") or ""),
        diff=str(details.get("diff") or ""),
        question=str(details.get("question") or ""),
    )


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
