"""A question that nobody answers is asked again. It never becomes a yes by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from planbound.engine.inbox import KINDS, is_asked, note
from planbound.engine.run.question import Question, QuestionKind
from planbound.journal.event import EventKind
from planbound.journal.record import Json, Provenance, Record

MAX_REMINDERS = 10
"""For one request; who did not hear ten times will not hear the eleventh."""

LOOKED_AT = KINDS
"""The kinds of events that say whether a plan waits for approval."""


class Waiting(NamedTuple):
    """A plan that somebody was asked to approve, and nobody did."""

    slug: str
    request: str
    """The id of the event that asked first."""
    asked: str
    """When it was asked last."""
    reminders: int
    details: Mapping[str, Json]
    """What the request told."""


def due(requested_at: str, reminded_count: int, now: str, every: float) -> bool:
    """Say whether it is time to ask again; times are in UTC, as the journal writes them.

    `requested_at` is when it was asked last: who was away for a week is reminded once.
    """
    if reminded_count >= MAX_REMINDERS:
        return False
    waited = datetime.fromisoformat(now) - datetime.fromisoformat(requested_at)
    return waited.total_seconds() >= every


def waiting(records: Iterable[Record]) -> list[Waiting]:
    """Return the plans that wait for an approval; one that waits for an answer does not."""
    found: dict[str, Waiting] = {}
    plans: dict[str, dict[str, Question]] = {}
    for record in records:
        draft = record.draft
        if draft.provenance is not Provenance.LIVE:
            continue
        questions = plans.setdefault(draft.plan, {})
        note(questions, record)
        if draft.event is EventKind.GATE_APPROVAL_REQUESTED:
            found[draft.plan] = _asked(record, found.get(draft.plan))
        elif not is_asked(questions):
            found.pop(draft.plan, None)
        elif draft.event is EventKind.GATE_CLARIFICATION_ASKED and draft.details.get("answer"):
            found[draft.plan] = found[draft.plan]._replace(asked=draft.timestamp)
    return [
        item
        for slug, item in found.items()
        if not is_asked(plans[slug], QuestionKind.CLARIFICATION)
    ]


def _asked(record: Record, before: Waiting | None) -> Waiting:
    draft = record.draft
    number = draft.details.get("reminder")
    if isinstance(number, int) and before is not None:
        return before._replace(asked=draft.timestamp, reminders=number)
    return Waiting(
        slug=draft.plan,
        request=draft.id,
        asked=draft.timestamp,
        reminders=0,
        details=draft.details,
    )
