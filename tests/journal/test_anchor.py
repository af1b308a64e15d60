"""What no chain can tell about itself, the anchor tells."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.journal.chain import (
    Anchor,
    AnchorState,
    compare,
    format_anchor,
    parse_anchor,
    verify,
)
from planbound.journal.record import GENESIS, CodecError, Head, Record
from tests.journal import CHAINS, TEXT, chained, started

ANCHOR = Anchor(3, "a" * 64, "2026-11-15T09:10:11.123456Z", "billing")
LINE = format_anchor(ANCHOR)


def journal(length: int = 5) -> list[Record]:
    return chained(started(number) for number in range(1, length + 1))


def head_of(records: list[Record]) -> Head:
    return Head(records[-1].seq, records[-1].hash) if records else GENESIS


def anchored(records: list[Record]) -> Anchor:
    head = head_of(records)
    return Anchor(head.seq, head.hash, "2026-11-15T09:10:11.123456Z", "billing")


def state(anchor: Anchor | None, records: list[Record], **counted: int) -> AnchorState:
    at_anchor = [record for record in records if anchor and record.seq == anchor.seq]
    return compare(anchor, head_of(records), at_anchor[0] if at_anchor else None, **counted)


def test_without_an_anchor_nothing_can_be_said() -> None:
    assert state(None, []) is AnchorState.UNANCHORED
    assert state(None, journal()) is AnchorState.UNANCHORED


def test_a_journal_that_only_grew_is_intact() -> None:
    records = journal()
    for length in range(6):
        assert state(anchored(records[:length]), records) is AnchorState.INTACT


def test_a_journal_that_was_changed_and_chained_anew_is_rewritten() -> None:
    records = journal()
    forged = chained([started(9), *(record.draft for record in records[1:])])
    assert list(verify(forged)) == []
    assert state(anchored(records), forged) is AnchorState.REWRITTEN
    assert state(anchored(records), [*forged, *journal(7)[5:]]) is AnchorState.REWRITTEN


def test_a_journal_that_counts_more_than_it_holds_is_truncated() -> None:
    records = journal()
    assert list(verify(records[:3])) == []
    assert state(anchored(records), records[:3], counted=5) is AnchorState.TRUNCATED
    assert compare(anchored(records), head_of(records), None) is AnchorState.TRUNCATED


def test_a_journal_that_is_old_in_all_of_its_parts_is_restored() -> None:
    records = journal()
    assert state(anchored(records), records[:3], counted=3) is AnchorState.RESTORED


def test_an_old_copy_that_went_on_is_rewritten_once_it_reaches_the_anchor() -> None:
    records = journal()
    other = chained([*(record.draft for record in records[:3]), started(8), started(9)])
    assert state(anchored(records), other[:4], counted=4) is AnchorState.RESTORED
    assert state(anchored(records), other, counted=5) is AnchorState.REWRITTEN


def test_where_nothing_is_counted_a_journal_that_ends_too_early_is_shortened() -> None:
    records = journal()
    assert state(anchored(records), records[:3]) is AnchorState.SHORTENED


def test_an_empty_journal_with_an_anchor_was_deleted() -> None:
    assert state(anchored(journal()), []) is AnchorState.DELETED
    assert state(anchored(journal()), [], counted=5) is AnchorState.DELETED
    assert state(anchored([]), []) is AnchorState.INTACT


@given(CHAINS, st.data())
def test_any_lost_end_is_found(records: list[Record], data: st.DataObject) -> None:
    left = records[: data.draw(st.integers(0, len(records) - 1))]
    assert list(verify(left)) == []
    assert state(anchored(records), left) in {AnchorState.SHORTENED, AnchorState.DELETED}


@given(CHAINS, st.data())
def test_any_history_that_was_chained_anew_is_found(
    records: list[Record], data: st.DataObject
) -> None:
    drafts = [record.draft for record in records]
    place = data.draw(st.integers(0, len(drafts) - 1))
    drafts[place] = drafts[place]._replace(id=drafts[place].id + "!")
    forged = chained(drafts)
    assert list(verify(forged)) == []
    assert state(anchored(records), forged) is AnchorState.REWRITTEN


@given(st.builds(Anchor, st.integers(0, 2**63), TEXT, TEXT, TEXT))
def test_an_anchor_survives_being_written_and_read(anchor: Anchor) -> None:
    text = format_anchor(anchor)
    assert text.isascii()
    assert len(text.splitlines()) == 1
    assert parse_anchor(text) == anchor
    assert parse_anchor(f"{text}\n") == anchor


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the anchor is not JSON"),
        ("{", "the anchor is not JSON"),
        ("[" * 200_000, "the anchor is not JSON"),
        ("[]", "the anchor does not have the keys `seq`, `hash`, `timestamp`, `project`"),
        ("{}", "the anchor does not have the keys"),
        (LINE[:-1] + ',"x":1}', "the anchor does not have the keys"),
        (LINE.replace(":3,", ":-3,"), "`seq` of the anchor is not a number from 0"),
        (LINE.replace(":3,", ":true,"), "`seq` of the anchor is not a number from 0"),
        (LINE.replace(":3,", ':"3",'), "`seq` of the anchor is not a number from 0"),
        (LINE.replace('"billing"', "null"), "are not all text"),
    ],
)
def test_a_text_that_is_no_anchor_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CodecError) as refusal:
        parse_anchor(text)
    assert reason in refusal.value.message


@given(st.text() | st.builds(repr, st.integers()))
def test_any_text_is_an_anchor_or_refused(text: Any) -> None:
    with pytest.raises(CodecError):
        parse_anchor(text)
