"""What a run asks a person, and what can be answered."""

from __future__ import annotations

import enum
from typing import NamedTuple


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
    failure_type: str | None = None
    exhausted: bool = False
    output_tail: str = ""
    diff: str = ""
    reminders: int = 0
