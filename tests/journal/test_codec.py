"""Records as JSON: nothing is lost, nothing is read in two ways, old lines are read for ever."""

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.journal.chain import verify
from planbound.journal.event import EVENTS, EventKind
from planbound.journal.record import (
    CodecError,
    Details,
    Json,
    Record,
    canonical,
    compose,
    decode,
    details_text,
    encode,
)
from tests.journal import DRAFTS, JSON, TEXT, chained, started
from tests.tables import one_fact

GOLDEN = Path(__file__).parents[1] / "fixtures" / "journal"
RECORD = chained([started()])[0]
LINE = encode(RECORD)


def with_details(details: Details) -> Record:
    return RECORD._replace(draft=RECORD.draft._replace(details=details))


def changed(**values: object) -> str:
    return json.dumps({**json.loads(LINE), **values})


def test_a_record_shows_every_key_the_telling_ones_first() -> None:
    assert list(json.loads(LINE)) == (
        "seq timestamp event plan task_id task_name details prev hash"
        " id plan_seq version provenance redactions"
    ).split(" ")


@given(DRAFTS)
def test_a_record_survives_being_written_and_read(draft: Any) -> None:
    record = chained([draft])[0]
    text = encode(record)
    assert text.isascii()
    assert len(text.splitlines()) == 1
    assert decode(text) == record
    assert encode(decode(text)) == text


@given(DRAFTS)
def test_the_canonical_form_is_the_one_that_json_has_for_it(draft: Any) -> None:
    record = chained([draft])[0]
    values = json.loads(encode(record))
    del values["hash"]
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert canonical(record) == text.encode("ascii")
    assert canonical(record) == compose(record).encode("ascii")
    assert canonical(record._replace(hash="other")) == canonical(record)


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        ({"a": float("nan")}, "`nan` in `details` is not JSON"),
        ({"a": [float("inf")]}, "`inf` in `details` is not JSON"),
        ({"a": {"b": float("-inf")}}, "`-inf` in `details` is not JSON"),
        ({1: "a"}, "a key in `details` is a `int`, expected text"),
        ({"a": {None: "a"}}, "a key in `details` is a `NoneType`, expected text"),
        ({"a": "\ud800"}, "`details` holds the lone surrogate U+D800"),
        ({"a": "\ud83d\ude00"}, "`details` holds the lone surrogate U+D83D"),
        ({"\udc80": 1}, "`details` holds the lone surrogate U+DC80"),
        ({"a": (1, 2)}, "a `tuple` in `details` is not JSON"),
        ({"a": b"a"}, "a `bytes` in `details` is not JSON"),
        ({"a": {1, 2}}, "a `set` in `details` is not JSON"),
        (["a"], "`details` is not an object"),
    ],
)
def test_what_json_has_no_single_form_for_is_refused(details: Any, reason: str) -> None:
    with pytest.raises(CodecError) as refusal:
        Details.of(details)
    assert refusal.value.message == reason


def test_details_that_are_nested_too_deep_are_refused_in_both_directions() -> None:
    deep: Json = "a"
    for _ in range(70):
        deep = [deep]
    with pytest.raises(CodecError, match="nested deeper than 64"):
        Details.of({"a": deep})
    with pytest.raises(CodecError, match="nested deeper than 64"):
        encode(with_details(Details(json.dumps({"a": deep}))))
    with pytest.raises(CodecError, match="nested deeper than 64"):
        decode(changed(details={"a": deep}))
    with pytest.raises(CodecError, match="nested too deep"):
        decode("[" * 200_000)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("id", "\ud800", "`id` holds the lone surrogate U+D800"),
        ("plan", None, "`plan` is not text"),
        ("task_name", "\udfff", "`task_name` holds the lone surrogate U+DFFF"),
        ("redactions", -1, "`redactions` is not a number from 0"),
        ("redactions", True, "`redactions` is not a number from 0"),
    ],
)
def test_a_field_that_is_none_is_refused(field: str, value: Any, reason: str) -> None:
    record = RECORD._replace(draft=RECORD.draft._replace(**{field: value}))
    with pytest.raises(CodecError) as refusal:
        encode(record)
    assert refusal.value.message == reason


@one_fact(
    ("text", "reason"),
    [
        ("", "the text is not JSON"),
        (LINE[:-1], "the text is not JSON"),
        (LINE + LINE, "the text is not JSON"),
        ("[]", "the text is not a JSON object"),
        ("null", "the text is not a JSON object"),
        ("{}", "`details` is missing"),
        (changed(colour="red"), "`colour` is not a key of a record; written by a newer version?"),
        (LINE[:-1] + ',"seq":2}', "an object has the same key twice"),
        (LINE.replace('{"attempt":1}', '{"a":1,"a":2}'), "an object has the same key twice"),
        (LINE.replace('{"attempt":1}', '{"a":NaN}'), "`NaN` is not JSON"),
        (LINE.replace('{"attempt":1}', '{"a":-Infinity}'), "`-Infinity` is not JSON"),
        (LINE.replace('{"attempt":1}', '{"a":1e999}'), "`inf` in `details` is not JSON"),
        (LINE.replace('{"attempt":1}', '{"a":"\\ud800"}'), "holds the lone surrogate U+D800"),
        (LINE.replace('{"attempt":1}', '{"a":' + "9" * 5000 + "}"), "the text is not JSON"),
        (changed(details=[]), "`details` is not an object"),
        (changed(details=None), "`details` is not an object"),
        (changed(seq="1"), "`seq` is not a number from 0"),
        (changed(seq=True), "`seq` is not a number from 0"),
        (changed(seq=1.0), "`seq` is not a number from 0"),
        (changed(plan_seq=-1), "`plan_seq` is not a number from 0"),
        (changed(plan=None), "`plan` is not text"),
        (changed(task_id=3), "`task_id` is not text"),
        (changed(hash=None), "`hash` is not text"),
        (changed(prev=[]), "`prev` is not text"),
        (changed(provenance="dream"), "`provenance` is not one of `live`, `replay`, `test`"),
        (changed(provenance=[]), "`provenance` is not one of `live`, `replay`, `test`"),
        (changed(version=0), "`version` of a `TASK_STARTED` is not a number from 1"),
        (changed(version="1"), "`version` of a `TASK_STARTED` is not a number from 1"),
        (changed(event=None), "`None` is not an event that this version knows"),
        (changed(event="task_started"), "`task_started` is not an event that this version knows"),
    ],
)
def test_a_text_that_is_no_record_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(CodecError) as refusal:
        decode(text)
    assert reason in refusal.value.message


@pytest.mark.parametrize("values", [{"event": "STEP_TELEPORTED"}, {"version": 99}])
def test_a_record_of_a_newer_version_says_what_to_do(values: dict[str, object]) -> None:
    with pytest.raises(CodecError) as refusal:
        decode(changed(**values))
    assert refusal.value.hint is not None
    assert "newer version" in refusal.value.hint


@pytest.mark.thorough
@given(st.text() | JSON.map(json.dumps))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(CodecError):
        decode(text)


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_details_out_of_a_store_are_the_details_that_went_in(details: dict[str, Json]) -> None:
    kept = Details(details_text(details))
    assert kept == Details.of(details)
    assert hash(kept) == hash(Details.of(details))
    assert kept.json() == details
    assert details_text(kept.json()) == kept.text
    stored = with_details(kept)
    assert canonical(stored) == compose(stored).encode("ascii")
    assert decode(encode(stored)) == stored


@given(JSON | st.integers().map(str))
def test_the_number_of_a_task_is_the_same_before_and_behind_the_store(number: Json) -> None:
    made = Details.of({"number": number})
    told = isinstance(number, str | int) and not isinstance(number, bool)
    assert made.number == Details(made.text).number == (str(number) if told else None)


def test_details_of_a_store_are_read_only_when_somebody_looks() -> None:
    broken = Details("{")
    assert compose(with_details(broken)).startswith('{"details":{,')
    assert repr(broken) == "Details('{')"
    for _ in range(2):
        with pytest.raises(CodecError):
            broken.json()
        with pytest.raises(CodecError):
            assert broken.number is None
        with pytest.raises(CodecError):
            encode(with_details(broken))


def test_any_mapping_will_do_for_details() -> None:
    assert encode(with_details(Details.of(MappingProxyType({"attempt": 1})))) == LINE
    assert details_text({}) == "{}"


def test_there_is_a_golden_file_for_every_version_with_every_kind() -> None:
    for version in range(1, max(event.VERSION for event in EVENTS.values()) + 1):
        lines = (GOLDEN / f"v{version}.jsonl").read_text(encoding="ascii").splitlines()
        kinds = {decode(line).kind for line in lines}
        assert kinds >= {kind for kind in EventKind if version <= EVENTS[kind].VERSION}


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.stem)
def test_old_records_are_read_for_ever(path: Path) -> None:
    lines = path.read_text(encoding="ascii").splitlines()
    records = [decode(line) for line in lines]
    assert [encode(record) for record in records] == lines
    assert list(verify(records)) == []
