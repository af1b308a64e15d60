"""One line of the journal."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from planbound.journal.event import EventKind

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Provenance(enum.Enum):
    """Whether it happened, was played again, or belongs to a test."""

    LIVE = "live"
    REPLAY = "replay"
    TEST = "test"


class Draft(NamedTuple):
    """An event that is to be appended; where it stands in the chain is not known yet."""

    id: str
    """The same event has the same id: appending it again changes nothing."""
    timestamp: str
    """UTC, `2026-11-15T09:10:11.123456Z`."""
    event: EventKind
    plan: str
    """The plan's slug; empty for what concerns the whole project."""
    task_id: str | None = None
    task_name: str | None = None
    details: Mapping[str, Json] = {}
    provenance: Provenance = Provenance.LIVE
    redactions: int = 0
    """How many secrets were taken out before this was stored."""


class Record(NamedTuple):
    """An event in its place: numbered over the project and within its plan, and chained."""

    seq: int
    plan_seq: int
    draft: Draft
    version: int
    prev: str
    """The hash of the record before it; 64 zeros for the first."""
    hash: str


class Head(NamedTuple):
    """The end of the chain."""

    seq: int
    hash: str


GENESIS = Head(0, "0" * 64)
