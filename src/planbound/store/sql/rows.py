"""A record as a row, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planbound.errors import JournalProblem
from planbound.journal.codec import Details, details_text
from planbound.journal.event import EVENTS, EventKind
from planbound.journal.record import Draft, Json, Provenance, Record

COLUMNS = tuple(
    "seq plan plan_seq id timestamp event version task_id task_name task_number"
    " details provenance redactions prev hash".split()
)

Row = Sequence[Any]

_EVENTS = {kind.value: (kind, EVENTS[kind].version) for kind in EventKind}
_PROVENANCES = {provenance.value: provenance for provenance in Provenance}


def to_row(record: Record) -> Row:
    """Return the values of a record in the order of `COLUMNS`."""
    draft = record.draft
    for text in (draft.plan, draft.id, draft.task_id, draft.task_name):
        if text is not None and "\0" in text:
            # PostgreSQL has no place for it. In details it is escaped.
            raise JournalProblem(f"`{draft.event.value}` holds a NUL character, expected text")
    return (
        record.seq,
        draft.plan,
        record.plan_seq,
        draft.id,
        draft.timestamp,
        draft.event.value,
        record.version,
        draft.task_id,
        draft.task_name,
        task_number(draft.details),
        details_text(draft.details),
        draft.provenance.value,
        draft.redactions,
        record.prev,
        record.hash,
    )


def from_row(row: Row) -> Record:
    """Return the record of a row; what no record can be is a `JournalProblem`."""
    # Written for speed: a million of these are made to verify a chain.
    seq, plan, plan_seq, id_, timestamp, event, version, task_id, task_name, *rest = row
    _, details, provenance, redactions, prev, digest = rest
    try:
        kind, newest = _EVENTS[event]
        source = _PROVENANCES[provenance]
        if version > newest or type(details) is not str:
            raise _unreadable(seq, f"a `{event}` of version {version}")
    except (KeyError, TypeError) as error:
        raise _unreadable(seq, f"`{event}`, {provenance}, version {version}") from error
    return Record(
        seq,
        plan_seq,
        Draft(id_, timestamp, kind, plan, task_id, task_name, Details(details), source, redactions),
        version,
        prev,
        digest,
    )


def _unreadable(seq: object, found: str) -> JournalProblem:
    return JournalProblem(
        f"record {seq} of the journal is {found}, which this version does not know",
        hint="if a newer version of planbound wrote this journal, read it with that one",
    )


def task_number(details: Mapping[str, Json]) -> str | None:
    """Return the number that people call the task by, if the event tells it."""
    number = details.get("number")
    if isinstance(number, str | int) and not isinstance(number, bool):
        return str(number)
    return None
