"""The anchor: the head of the journal, noted where an agent cannot reach it.

A chain proves that nothing *within* it was changed. Who can write the journal can still chain it
anew, cut its end off, put an old copy back or delete it: only a note from outside tells.
"""

from __future__ import annotations

import enum
import json
from typing import NamedTuple

from planbound.journal.codec import CodecError
from planbound.journal.record import GENESIS, Head, Record


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
