"""Tests of the journal's pure half, and the records they share."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from planbound.journal.chain import link
from planbound.journal.event import EVENTS, DetailSpec, DetailType, EventKind
from planbound.journal.record import GENESIS, Draft, Head, Json, Provenance, Record

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)
TIMESTAMPS = st.datetimes().map(lambda time: f"{time.isoformat(timespec='microseconds')}Z")
DRAFTS = st.builds(
    Draft,
    id=TEXT,
    timestamp=TIMESTAMPS,
    event=st.sampled_from(EventKind),
    plan=st.sampled_from(["", "rounding", "café"]),
    task_id=st.none() | TEXT,
    task_name=st.none() | TEXT,
    details=st.dictionaries(TEXT, JSON, max_size=2),
    provenance=st.sampled_from(Provenance),
    redactions=st.integers(0, 9),
)


def chained(drafts: Iterable[Draft], start: Head = GENESIS) -> list[Record]:
    """Return the drafts as the records of a whole journal."""
    records: list[Record] = []
    plan_seqs: dict[str, int] = {}
    head = start
    for draft in drafts:
        plan_seqs[draft.plan] = plan_seqs.get(draft.plan, 0) + 1
        version = EVENTS[draft.event].version
        record = link(draft, head, plan_seqs[draft.plan], version)
        records.append(record)
        head = Head(record.seq, record.hash)
    return records


CHAINS = st.lists(DRAFTS, min_size=2, max_size=5).map(chained)


def started(number: int = 1, *, plan: str = "rounding") -> Draft:
    """Return an event like any other."""
    return Draft(
        id=f"run-1:{number}:1:TASK_STARTED",
        timestamp=f"2026-11-15T09:10:{number % 60:02d}.000000Z",
        event=EventKind.TASK_STARTED,
        plan=plan,
        task_id=str(number),
        task_name="Round once, at the end",
        details={"attempt": 1},
    )


def sample(spec: DetailSpec) -> Json:
    """Return a value that a detail may have."""
    values: dict[DetailType, Json] = {
        DetailType.TEXT: "words",
        DetailType.TEXT_OR_NULL: None,
        DetailType.TEXTS: ["one", "two"],
        DetailType.INTEGER: 3,
        DetailType.INTEGER_OR_NULL: None,
        DetailType.NUMBER: 1.5,
        DetailType.FLAG: True,
        DetailType.OBJECT: {"2": ["1"]},
        DetailType.TEXTS_BY_ID: {"2": "words"},
        DetailType.EXACT: "words",
        DetailType.EXACT_OR_NULL: None,
        DetailType.EXACTS: ["one", "two"],
        DetailType.EXACT_OBJECT: {"2": ["1"]},
        DetailType.SOURCES: ["one", "two"],
    }
    return values[spec.type]
