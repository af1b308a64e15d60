"""Tests of the journal's pure half, and the records they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from planbound.journal.chain import link
from planbound.journal.event import EVENTS, Event, EventField, EventKind, event_of, fields_of
from planbound.journal.record import GENESIS, Details, Draft, Head, Json, Provenance, Record

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
    kind=st.sampled_from(EventKind),
    plan=st.sampled_from(["", "rounding", "café"]),
    task_id=st.none() | TEXT,
    task_name=st.none() | TEXT,
    details=st.dictionaries(TEXT, JSON, max_size=2).map(Details.of),
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
        version = EVENTS[draft.kind].VERSION
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
        kind=EventKind.TASK_STARTED,
        plan=plan,
        task_id=str(number),
        task_name="Round once, at the end",
        details=Details.of({"attempt": 1}),
    )


_NOTHING: dict[str, Json] = {"integer": 0, "number": 0, "true or false": False}


def told(kind: EventKind, details: Mapping[str, Json] | None = None) -> Details:
    """Return the details of an event: what is given, and nothing for the rest that it must tell."""
    needed = {field.name: _nothing(field) for field in fields_of(EVENTS[kind]) if field.required}
    return Details.of({**needed, **(details or {})})


def happened(kind: EventKind, details: Mapping[str, Json] | None = None) -> Event:
    """Return an event that tells these details."""
    return event_of(kind, EVENTS[kind].VERSION, told(kind, details).text)


def _nothing(field: EventField) -> Json:
    if field.null:
        return None
    if field.words.startswith("list"):
        return []
    return {} if "object" in field.words else _NOTHING.get(field.words, "")


SAMPLES: dict[str, Json] = {
    "text": "words",
    "exact text": "words",
    "exact text or null": None,
    "list of texts": ["one", "two"],
    "list of exact texts": ["one", "two"],
    "list of names with digests": ["one", "two"],
    "object of texts by id": {"2": "words"},
    "integer": 3,
    "integer or null": None,
    "number": 1.5,
    "true or false": True,
}
OBJECTS: dict[str, Json] = {
    "budget": {"tokens": 5, "dollars": "1.20", "seconds": 60.0},
    "dependencies": {"1": [], "2": ["1"]},
    "judges": {"tests/test_it.py": "0f"},
    "probes": {"1": {"name": "file_exists", "arguments": {"path": "a.txt"}}},
    "tests": {"passed": 3, "failed": 0, "skipped": 1, "list": "0f"},
    "mutated": {"sensitive": 20, "tests": 22, "blind": ["words"]},
    "controls": [
        {
            "name": "bad.patch",
            "patch": "0f",
            "result": "noticed",
            "verdict": "fail",
            "reason": "exit 1",
            "exit_code": 1,
            "output_digest": "0f",
            "output_tail": "words",
        }
    ],
    "tools": {"pytest": "8.4"},
    "verdicts": {"postcondition 1": "pass"},
}


def sample(field: EventField) -> Json:
    """Return a value that a detail may have."""
    return SAMPLES[field.words] if field.words in SAMPLES else OBJECTS[field.name]
