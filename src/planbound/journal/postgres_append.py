"""An append in which the server finds the end of the chain, and reckons the hash itself.

So a writer holds the lock of the chain only as long as the server works. Where it had to be told
the head first, every other writer waited for its network and for its turn on its processor, too.
"""

# ruff: noqa: S608 - names of tables and columns are our own; what users give is bound
from __future__ import annotations

from typing import NamedTuple

from planbound.errors import JournalProblem
from planbound.journal.chain import link
from planbound.journal.event import EVENTS
from planbound.journal.record import GENESIS, Draft, Head, HeldLease, Record, compose_parts
from planbound.journal.sql import COLUMNS, Dialect, Row, to_row

_PLACED = ("seq", "plan_seq", "prev", "hash")
_GIVEN = tuple(column for column in COLUMNS if column not in _PLACED)
_CASTS = {"version": "integer", "redactions": "integer"}
_HASH = (
    "encode(sha256(convert_to(%(_head)s::text || %(details)s::text || %(_plan_seq)s::text"
    " || place.plan_seq || %(_prev)s::text || place.prev || %(_seq)s::text || place.seq"
    " || %(_end)s::text, 'UTF8')), 'hex')"
)


def statement_at_end(dialect: Dialect, *, is_leased: bool) -> str:
    """Return what appends one event, and gives its place; no row where it is there already.

    Whoever sends it holds the lock of the chain. With a lease nothing is appended without it.
    """
    given = ", ".join(f"%({column})s::{_CASTS.get(column, 'text')}" for column in _GIVEN)
    leased = (
        f" AND EXISTS (SELECT FROM {dialect.lease} WHERE plan = %(_lease_plan)s::text"
        " AND number = %(_lease_number)s::bigint AND held)"
    )
    return (
        "WITH place AS MATERIALIZED (SELECT head.seq + 1 AS seq, head.hash AS prev,"
        f" coalesce((SELECT plan_seq FROM {dialect.table} AS own WHERE own.plan = %(plan)s::text"
        " ORDER BY own.seq DESC LIMIT 1), 0) + 1 AS plan_seq"
        f" FROM ((SELECT seq, hash FROM {dialect.table} ORDER BY seq DESC LIMIT 1)"
        f" UNION ALL SELECT {GENESIS.seq}, '{GENESIS.hash}' ORDER BY seq DESC LIMIT 1) AS head)"
        f" INSERT INTO {dialect.table} ({', '.join((*_GIVEN, *_PLACED))})"
        f" SELECT {given}, place.seq, place.plan_seq, place.prev, {_HASH} FROM place"
        f" WHERE NOT EXISTS (SELECT FROM {dialect.table} AS known WHERE known.id = %(id)s::text)"
        f"{leased if is_leased else ''}"
        f" RETURNING {', '.join(_PLACED)}"
    )


class _EndOfChain(NamedTuple):
    seq: int
    plan_seq: int
    prev: str
    hash: str


def values_of(draft: Draft, held_lease: HeldLease | None) -> dict[str, object]:
    """Return what the statement is told; raise JournalProblem for what cannot be a record."""
    version = EVENTS[draft.kind].VERSION
    tried = link(draft, GENESIS, 1, version)
    row = dict(zip(COLUMNS, to_row(tried), strict=True))
    values: dict[str, object] = {column: row[column] for column in _GIVEN}
    parts = compose_parts(draft, version)
    values |= {f"_{name}": text for name, text in parts._asdict().items()}
    if held_lease is not None:
        values |= {"_lease_plan": held_lease.plan, "_lease_number": held_lease.number}
    return values


def placed_record(draft: Draft, row: Row) -> Record:
    """Return the record of a draft that the server put at the end."""
    place = _EndOfChain(*row)
    head = Head(place.seq - 1, place.prev)
    record = link(draft, head, place.plan_seq, EVENTS[draft.kind].VERSION)
    if record.hash != place.hash:
        raise JournalProblem(
            f"the server reckons another hash for record {place.seq} than this version does",
            hint="`planbound log --verify` looks at the journal",
        )
    return record
