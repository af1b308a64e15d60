"""Whatever is changed in a journal is found, and named."""

import gc
import json
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planbound.journal.chain import ChainFaultKind, link, verify
from planbound.journal.event import EventKind
from planbound.journal.record import (
    GENESIS,
    CodecError,
    Details,
    Head,
    Provenance,
    Record,
    compose,
    decode,
    encode,
)
from tests.journal import CHAINS, TIMESTAMPS, chained, started

TEXTS = ["id", "timestamp", "plan", "task_id", "task_name"]


def kinds(records: Iterable[Record], start: Head = GENESIS) -> list[ChainFaultKind]:
    return [fault.kind for fault in verify(records, start)]


def journal(length: int = 5) -> list[Record]:
    return chained(started(number) for number in range(1, length + 1))


def stored(record: Record) -> Record:
    """Return the record as a store hands it out."""
    return record._replace(draft=record.draft._replace(details=Details(record.draft.details.text)))


@given(CHAINS)
def test_a_chain_that_nobody_touched_has_no_fault(records: list[Record]) -> None:
    assert kinds(records) == []
    assert kinds(map(stored, records)) == []
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert records[0].prev == GENESIS.hash


def test_the_hash_covers_the_record_before() -> None:
    first = link(started(), GENESIS, 1, 1)
    other = link(started(), Head(0, "1" * 64), 1, 1)
    assert first.hash != other.hash
    assert link(started(), GENESIS, 1, 1) == first


@pytest.mark.parametrize(
    "timestamp",
    [
        "",
        "2026-11-15",
        "2026-11-15T09:10:11Z",
        "2026-11-15T09:10:11.123Z",
        "2026-11-15T09:10:11.123456",
        "2026-11-15T09:10:11.123456+00:00",
        "2026-11-15 09:10:11.123456Z",
        "2026-13-15T09:10:11.123456Z",
        "2026-11-32T09:10:11.123456Z",
        "2026-11-15T24:10:11.123456Z",
        "2026-11-15T09:60:11.123456Z",
        "2026-11-15T09:10:11.123456Z\n",
        "٢٠٢٦-11-15T09:10:11.123456Z",
    ],
)
def test_a_time_that_is_not_utc_with_microseconds_is_refused_and_found(timestamp: str) -> None:
    with pytest.raises(CodecError, match="`timestamp` is"):
        link(started()._replace(timestamp=timestamp), GENESIS, 1, 1)
    first, *rest = journal()
    first = first._replace(draft=first.draft._replace(timestamp=timestamp))
    assert set(kinds([first, *rest])) == {ChainFaultKind.WRONG_HASH, ChainFaultKind.TIME_FORMAT}


@given(TIMESTAMPS)
def test_every_time_can_be_linked(timestamp: str) -> None:
    assert kinds([link(started()._replace(timestamp=timestamp), GENESIS, 1, 1)]) == []


def test_a_changed_content_is_named_once() -> None:
    records = journal()
    records[2] = records[2]._replace(draft=records[2].draft._replace(task_name="Round twice"))
    (fault,) = verify(records)
    assert (fault.seq, fault.kind) == (3, ChainFaultKind.WRONG_HASH)
    assert fault.message.startswith("the content of record 3 does not have the hash `")


def test_a_changed_hash_is_found_at_the_record_and_at_the_next() -> None:
    records = journal()
    records[2] = records[2]._replace(hash="0" * 64)
    assert [(fault.seq, fault.kind) for fault in verify(records)] == [
        (3, ChainFaultKind.WRONG_HASH),
        (4, ChainFaultKind.WRONG_PREV),
    ]


def test_a_record_that_was_made_to_fit_its_new_content_does_not_fit_the_next() -> None:
    records = journal()
    draft = records[2].draft._replace(task_name="Round twice")
    records[2] = link(draft, Head(2, records[1].hash), 3, 1)
    (fault,) = verify(records)
    assert (fault.seq, fault.kind) == (4, ChainFaultKind.WRONG_PREV)


def test_removed_records_are_counted() -> None:
    records = journal(6)
    faults = list(verify(records[:2] + records[4:]))
    assert [fault.kind for fault in faults] == [
        ChainFaultKind.SEQ_GAP,
        ChainFaultKind.PLAN_SEQ_GAP,
        ChainFaultKind.WRONG_PREV,
    ]
    assert faults[0].message == "records 3 to 4 are missing"
    assert faults[1].message == "record 5 is number 5 of plan `rounding`, expected 3"
    assert next(verify(records[1:])).message == "record 1 is missing"


def test_a_repeated_record_is_named() -> None:
    records = journal()
    fault = next(verify([*records[:2], records[1], *records[2:]]))
    assert fault.kind is ChainFaultKind.SEQ_GAP
    assert fault.message == "record 2 stands where record 3 belongs: moved or repeated"


def test_numbers_within_a_plan_have_no_gap_whatever_stands_between() -> None:
    drafts = [started(1, plan="a"), started(2, plan="b"), started(3, plan="a")]
    records = chained(drafts)
    assert [record.plan_seq for record in records] == [1, 1, 2]
    assert kinds(records) == []
    skipped = link(drafts[2], Head(2, records[1].hash), 3, 1)
    assert kinds([*records[:2], skipped]) == [ChainFaultKind.PLAN_SEQ_GAP]


def test_a_part_of_a_journal_can_be_verified_from_where_it_begins() -> None:
    records = journal(6)
    head = Head(records[2].seq, records[2].hash)
    assert kinds(records[3:], head) == []
    assert kinds(records[4:], head)[0] is ChainFaultKind.SEQ_GAP
    assert kinds(records[3:4] + records[5:], head)[0] is ChainFaultKind.SEQ_GAP


def test_an_empty_journal_has_no_fault() -> None:
    assert kinds([]) == []


def test_details_that_cannot_be_hashed_are_a_wrong_hash() -> None:
    records = journal()
    for text in ('{"a":NaN}', '{"a":"é"}', '{"a":"\ud800"}', "{"):
        broken = Details(text)
        changed = records[0]._replace(draft=records[0].draft._replace(details=broken))
        assert kinds([changed, *records[1:]]) == [ChainFaultKind.WRONG_HASH]


# -- properties --------------------------------------------------------------------------------


def flip(text: str, data: st.DataObject) -> str:
    position = data.draw(st.integers(0, len(text) - 1))
    bit = data.draw(st.sampled_from([1, 2, 4, 8, 16, 32, 64]))
    return text[:position] + chr(ord(text[position]) ^ bit) + text[position + 1 :]


def tampered(record: Record, data: st.DataObject) -> Record:
    """Change one thing about a record."""
    draft = record.draft
    match data.draw(st.sampled_from(["text", "place", "number", "kind", "details"])):
        case "text":
            name = data.draw(st.sampled_from(TEXTS))
            old = getattr(draft, name)
            change: dict[str, Any] = {name: flip(old, data) if old else "x"}
            return record._replace(draft=draft._replace(**change))
        case "place":
            name = data.draw(st.sampled_from(["prev", "hash"]))
            change = {name: flip(getattr(record, name), data)}
            return record._replace(**change)
        case "number":
            name = data.draw(st.sampled_from(["seq", "plan_seq", "version", "redactions"]))
            more = data.draw(st.integers(-3, 3).filter(bool))
            if name == "redactions":
                return record._replace(draft=draft._replace(redactions=draft.redactions + more))
            change = {name: getattr(record, name) + more}
            return record._replace(**change)
        case "kind":
            event = data.draw(st.sampled_from(EventKind))
            provenance = data.draw(st.sampled_from(Provenance))
            return record._replace(draft=draft._replace(kind=event, provenance=provenance))
        case _:
            text = flip(draft.details.text, data)
            return record._replace(draft=draft._replace(details=Details(text)))


@given(CHAINS, st.data())
def test_flipping_any_byte_of_any_field_is_found(
    records: list[Record], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(records) - 1))
    record = stored(records[place])
    changed = tampered(record, data)
    assume((compose(changed), changed.hash) != (compose(record), record.hash))
    assert kinds([*records[:place], changed, *records[place + 1 :]])


@given(CHAINS, st.data())
def test_flipping_any_byte_of_a_line_is_found_or_means_the_same(
    records: list[Record], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(records) - 1))
    lines = [encode(record) for record in records]
    lines[place] = flip(lines[place], data)
    try:
        read = [decode(line) for line in lines]
    except CodecError:
        return
    assert kinds(read) or read == records  # such as `\u00E9` for `\u00e9`


@given(CHAINS, st.data())
def test_a_removed_record_is_found(records: list[Record], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(records) - 2))  # for the last one there is the anchor
    assert kinds(records[:place] + records[place + 1 :])


@given(CHAINS, st.data())
def test_two_records_that_changed_places_are_found(
    records: list[Record], data: st.DataObject
) -> None:
    one = data.draw(st.integers(0, len(records) - 2))
    other = data.draw(st.integers(one + 1, len(records) - 1))
    records = records.copy()
    records[one], records[other] = records[other], records[one]
    assert kinds(records)


@given(CHAINS, st.data())
def test_a_record_that_stands_twice_is_found(records: list[Record], data: st.DataObject) -> None:
    source = data.draw(st.integers(0, len(records) - 1))
    place = data.draw(st.integers(0, len(records)))
    assert kinds([*records[:place], records[source], *records[place:]])


@given(CHAINS, st.data())
def test_an_inserted_record_is_found_however_well_it_fits_before(
    records: list[Record], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(records) - 1))
    head = Head(place, records[place - 1].hash) if place else GENESIS
    draft = data.draw(st.sampled_from(records)).draft
    plan_seq = sum(record.draft.plan == draft.plan for record in records[:place]) + 1
    inserted = link(draft, head, plan_seq, 1)
    assert kinds([*records[:place], inserted, *records[place:]])


# -- cost --------------------------------------------------------------------------------------


def endless() -> Iterator[Record]:
    head = GENESIS
    while True:
        record = link(started(head.seq), head, head.seq + 1, 1)
        head = Head(record.seq, record.hash)
        yield record


def test_faults_come_while_the_records_are_read() -> None:
    def records() -> Iterator[Record]:
        for record in endless():
            if record.seq != 3:
                yield record

    assert next(verify(records())).message == "record 3 is missing"


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_journal() -> None:
    records = list(islice(endless(), 5000))

    def peak(length: int) -> int:
        gc.collect()
        tracemalloc.start()
        assert not list(verify(islice(records, length)))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    # Other threads of this process are counted, too: what is least is what `verify` needs.
    most = peak(500) + 20_000
    assert any(peak(5000) < most for _ in range(5))


def test_what_is_shown_is_enough_to_verify() -> None:
    lines = [encode(record) for record in journal()]
    assert kinds(decode(line) for line in lines) == []
    values = json.loads(lines[1])
    values["details"]["attempt"] = 2
    lines[1] = json.dumps(values)
    assert kinds(decode(line) for line in lines) == [ChainFaultKind.WRONG_HASH]
