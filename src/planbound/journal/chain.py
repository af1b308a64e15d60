"""The chain: each record's hash covers the record and the hash of the one before it."""

import enum
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct

from planbound.journal.record import GENESIS, CodecError, Draft, Head, Record, canonical, compose

# -- the chain: each record's hash covers the record and the hash of the one before it -----------


# Of fixed width, so that the order of texts is the order of times.
_TIME = (
    "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    "T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9][.][0-9]{6}Z"
)


class ChainFaultKind(enum.Enum):
    """What can be wrong with a record's place in the chain."""

    SEQ_GAP = "seq-gap"
    """The number does not follow the one before: removed, inserted, repeated or moved."""
    PLAN_SEQ_GAP = "plan-seq-gap"
    """The number within the plan does not follow the plan's record before."""
    WRONG_PREV = "wrong-prev"
    """`prev` is not the hash of the record before."""
    WRONG_HASH = "wrong-hash"
    """The hash is not that of the content: somebody changed one of them."""
    TIME_FORMAT = "time-format"
    """The time is not written as UTC with microseconds and a `Z`."""


class ChainFault(Struct, frozen=True):
    """Something wrong, at a record."""

    seq: int
    kind: ChainFaultKind
    message: str


def link(draft: Draft, previous: Head, plan_seq: int, version: int) -> Record:
    """Return the record that follows `previous`; raise CodecError where the draft cannot be one."""
    if not _time().fullmatch(draft.timestamp):
        raise CodecError(
            f"`timestamp` is `{draft.timestamp[:40]}`, expected `2026-11-15T09:10:11.123456Z`"
        )
    record = Record(previous.seq + 1, plan_seq, draft, version, previous.hash, "")
    return record._replace(hash=sha256(canonical(record)).hexdigest())


def verify(records: Iterable[Record], start: Head = GENESIS) -> Iterator[ChainFault]:
    """Yield what is wrong with records that are to follow `start`, as they come.

    A record with a fault is then taken for what it says, so that one change is not told again at
    every record behind it. Memory grows with the number of plans, not of records.
    """
    seq, prev = start
    plan_seqs: dict[str, int] = {}
    whole = start.seq == GENESIS.seq
    is_time = _time().fullmatch
    for record in records:
        seq += 1
        draft = record.draft
        if record.seq != seq:
            yield ChainFault(record.seq, ChainFaultKind.SEQ_GAP, _gap(record.seq, seq))
            seq = record.seq
        plan_seq = plan_seqs.get(draft.plan, 0) + 1
        if record.plan_seq != plan_seq and (whole or plan_seq > 1):
            yield ChainFault(
                seq,
                ChainFaultKind.PLAN_SEQ_GAP,
                f"record {seq} is number {record.plan_seq} of plan `{draft.plan}`,"
                f" expected {plan_seq}",
            )
        plan_seqs[draft.plan] = record.plan_seq
        if record.prev != prev:
            yield ChainFault(
                seq,
                ChainFaultKind.WRONG_PREV,
                f"record {seq} follows `{record.prev[:12]}`, but before it stands `{prev[:12]}`",
            )
        prev = record.hash
        if _hash(record) != prev:
            yield ChainFault(
                seq,
                ChainFaultKind.WRONG_HASH,
                f"the content of record {seq} does not have the hash `{prev[:12]}`",
            )
        if not is_time(draft.timestamp):
            yield ChainFault(
                seq,
                ChainFaultKind.TIME_FORMAT,
                f"the time of record {seq} is `{draft.timestamp[:40]}`,"
                " expected UTC such as `2026-11-15T09:10:11.123456Z`",
            )


@cache
def _time() -> re.Pattern[str]:
    return re.compile(_TIME)


def is_whole(record: Record) -> bool:
    """Say whether a record's hash is that of its content."""
    return _hash(record) == record.hash


def _hash(record: Record) -> str | None:
    try:
        return sha256(compose(record).encode("ascii")).hexdigest()
    except (ValueError, TypeError, RecursionError):  # no JSON, so no hash can be right
        return None


def _gap(found: int, expected: int) -> str:
    if found < expected:
        return f"record {found} stands where record {expected} belongs: moved or repeated"
    if found == expected + 1:
        return f"record {expected} is missing"
    return f"records {expected} to {found - 1} are missing"


# -- the anchor: the head of the journal, noted where an agent cannot reach it -------------------


class Anchor(NamedTuple):
    """What the head of a project's journal was, and when that was noted."""

    seq: int
    hash: str
    timestamp: str
    project: str


class AnchorState(enum.Enum):
    """What an anchor says about a journal."""

    INTACT = "intact"
    """The record at the anchor is the one that was noted."""
    REWRITTEN = "rewritten"
    """Another record stands at the anchor: the journal was changed and chained anew."""
    TRUNCATED = "truncated"
    """Records are gone that the journal itself still counts: its end was cut off."""
    RESTORED = "restored"
    """All of the journal is older than the anchor: an old copy was put back."""
    SHORTENED = "shortened"
    """It ends before the anchor: cut off, or an old copy put back; it cannot be told which."""
    DELETED = "deleted"
    """There is an anchor and no record at all."""
    UNANCHORED = "unanchored"
    """Nothing was noted yet."""


def format_anchor(anchor: Anchor) -> str:
    """Return an anchor as one line of JSON, without the line end."""
    return json.dumps(anchor._asdict(), separators=(",", ":"))


def parse_anchor(text: str) -> Anchor:
    """Return the anchor that `format_anchor` wrote; raise CodecError where the text is none."""
    try:
        values: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"the anchor is not JSON: {error}") from error
    if not isinstance(values, dict) or values.keys() != set(Anchor._fields):
        raise CodecError(f"the anchor does not have the keys `{'`, `'.join(Anchor._fields)}`")
    anchor = Anchor(**values)
    if type(anchor.seq) is not int or anchor.seq < 0:
        raise CodecError("`seq` of the anchor is not a number from 0")
    if not all(isinstance(value, str) for value in anchor[1:]):
        raise CodecError("`hash`, `timestamp` and `project` of the anchor are not all text")
    return anchor


def compare(  # noqa: PLR0911 - one answer for each state
    anchor: Anchor | None,
    head: Head,
    record_at_anchor: Record | None,
    *,
    counted: int | None = None,
) -> AnchorState:
    """Return what the anchor says about a journal with this head.

    `record_at_anchor` is the record with the anchor's number, if there is one. `counted` is the
    highest number that the store remembers to have given away, kept beside the records: with it an
    end that was cut off can be told from an old copy, in which both are old.
    """
    if anchor is None:
        return AnchorState.UNANCHORED
    if anchor.seq == GENESIS.seq:
        return AnchorState.INTACT
    if head.seq == GENESIS.seq:
        return AnchorState.DELETED
    if record_at_anchor is not None:
        same = (record_at_anchor.seq, record_at_anchor.hash) == (anchor.seq, anchor.hash)
        return AnchorState.INTACT if same else AnchorState.REWRITTEN
    if head.seq >= anchor.seq:
        return AnchorState.TRUNCATED
    if counted is None:
        return AnchorState.SHORTENED
    return AnchorState.TRUNCATED if counted > head.seq else AnchorState.RESTORED
