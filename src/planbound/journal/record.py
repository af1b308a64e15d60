"""One line of the journal, and what it tells as JSON in its one canonical form.

The canonical form has sorted keys, no spaces and nothing but ASCII. What has no single way to be
written (NaN, keys that are not text, lone surrogates) is refused. The form is fixed: every hash
that was ever stored depends on it.
"""

import enum
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from types import EllipsisType
from typing import Any, NamedTuple, NoReturn, Protocol, TypeGuard

from msgspec import Struct

from planbound.errors import JournalProblem, LeaseLost
from planbound.journal.event import EVENTS, Event, EventKind, event_of

# -- one line of the journal, and what it tells as JSON in its one canonical form ----------------


Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
MAX_DEPTH = 64
"""How deep details may be nested; deeper ones would depend on the reader's stack."""


class CodecError(JournalProblem):
    """A record that cannot be written as JSON, or a text that is no record."""


class Details:
    """What an event tells, as a store keeps it: hashed as it stands, read when somebody looks."""

    __slots__ = ("_event", "_number", "text")

    def __init__(self, text: str) -> None:
        """Take what stands in a store, or what `of` made."""
        self.text = text
        self._event: Event | None = None
        self._number: str | EllipsisType | None = ...
        """What `number` says, where that is known: only of details that can be written."""

    @classmethod
    def of(cls, values: Mapping[str, Json]) -> "Details":
        """Return details in their canonical form; raise CodecError for what has none."""
        made = cls(details_text(values))
        number = values.get("number")
        if number is None or type(number) is str:
            made._number = number
        return made

    def check(self) -> None:
        """Raise CodecError where these are no details that can be written."""
        if self._number is ...:
            self.json()

    @property
    def number(self) -> str | None:
        """Return the number that people call the task by, if the event tells it."""
        if self._number is ...:
            number = self.json().get("number")
            told = isinstance(number, str | int) and not isinstance(number, bool)
            self._number = str(number) if told else None
        return self._number

    def event(self, kind: EventKind, version: int) -> Event:
        """Return what happened, as these details of its kind tell it."""
        if self._event is None:
            self._event = event_of(kind, version, self.text)
        return self._event

    def json(self) -> dict[str, Json]:
        """Return all that stands there, also what this version does not know."""
        values = parse(self.text)
        _check_members(values, 1)
        return values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Details) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Details({self.text!r})"


NO_DETAILS = Details("{}")


def details_text(values: Mapping[str, Json]) -> str:
    """Return a JSON object in its canonical form; raise CodecError for what has none."""
    if not isinstance(values, Mapping):
        raise CodecError("`details` is not an object")
    _check_members(values, 1)
    return _encode(values if type(values) is dict else dict(values))


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
    kind: EventKind
    plan: str
    """The plan's slug; empty for what concerns the whole project."""
    task_id: str | None = None
    task_name: str | None = None
    details: Details = NO_DETAILS
    provenance: Provenance = Provenance.LIVE
    redactions: int = 0
    """How many secrets were taken out before this was stored."""

    @property
    def event(self) -> Event:
        """What happened."""
        return self.details.event(self.kind, EVENTS[self.kind].VERSION)


class Record(NamedTuple):
    """An event in its place: numbered over the project and within its plan, and chained."""

    seq: int
    plan_seq: int
    draft: Draft
    version: int
    prev: str
    """The hash of the record before it; 64 zeros for the first."""
    hash: str

    @property
    def kind(self) -> EventKind:
        """Which kind of event it is."""
        return self.draft.kind

    @property
    def event(self) -> Event:
        """What happened; raise JournalProblem where the details are not those of the kind."""
        return self.draft.details.event(self.draft.kind, self.version)


class Head(NamedTuple):
    """The end of the chain."""

    seq: int
    hash: str


GENESIS = Head(0, "0" * 64)

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode

# -- reading -----------------------------------------------------------------------------------


def _refuse_constant(name: str) -> NoReturn:
    raise CodecError(f"`{name}` is not JSON")


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        # Of two values under one name, different readers see different ones.
        raise CodecError("an object has the same key twice")
    return values


_decoder = json.JSONDecoder(object_pairs_hook=_refuse_twice, parse_constant=_refuse_constant)


def parse(text: str) -> dict[str, Any]:
    """Return the JSON object that a text is; raise CodecError where it is none."""
    try:
        values: object = _decoder.decode(text)
    except RecursionError as error:
        raise CodecError("the text is nested too deep") from error
    except ValueError as error:
        raise CodecError(f"the text is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise CodecError("the text is not a JSON object")
    return values


# -- checking ----------------------------------------------------------------------------------


def _check_value(value: object, depth: int) -> None:
    if isinstance(value, str):
        check_text(value, "details")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise CodecError(f"`{value}` in `details` is not JSON")
    elif isinstance(value, list | dict):
        if depth > MAX_DEPTH:
            raise CodecError(f"`details` is nested deeper than {MAX_DEPTH}")
        if isinstance(value, dict):
            _check_members(value, depth)
        else:
            for item in value:
                _check_value(item, depth + 1)
    elif value is not None and not isinstance(value, int):
        raise CodecError(f"a `{type(value).__name__}` in `details` is not JSON")


def _check_members(members: Mapping[Any, object], depth: int) -> None:
    for key, value in members.items():
        if not isinstance(key, str):
            raise CodecError(f"a key in `details` is a `{type(key).__name__}`, expected text")
        check_text(key, "details")
        _check_value(value, depth + 1)


def check_text(text: str, where: str) -> None:
    """Raise CodecError for a text that cannot be written."""
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise CodecError(f"`{where}` holds the lone surrogate U+{code:04X}") from error


# -- records as JSON: one line each to show and to keep, one canonical form to hash --------------


def encode(record: Record) -> str:
    """Return a record as one line of JSON, without the line end."""
    _check(record)
    draft = record.draft
    return (
        f'{{"seq":{record.seq},"timestamp":{_text(draft.timestamp)}'
        f',"event":{_text(draft.kind.value)},"plan":{_text(draft.plan)}'
        f',"task_id":{_text_or_null(draft.task_id)},"task_name":{_text_or_null(draft.task_name)}'
        f',"details":{draft.details.text},"prev":{_text(record.prev)}'
        f',"hash":{_text(record.hash)},"id":{_text(draft.id)},"plan_seq":{record.plan_seq}'
        f',"version":{record.version},"provenance":{_text(draft.provenance.value)}'
        f',"redactions":{draft.redactions}}}'
    )


def decode(text: str) -> Record:
    """Return the record that `encode` wrote; raise CodecError where the text is none."""
    values = parse(text)
    if values.keys() != _KEYS:
        raise CodecError(_wrong_keys(values))
    kind = _kind(values["event"], values["version"])
    if values["provenance"] not in tuple(_PROVENANCES):
        raise CodecError(f"`provenance` is not one of `{'`, `'.join(_PROVENANCES)}`")
    record = Record(
        seq=values["seq"],
        plan_seq=values["plan_seq"],
        draft=Draft(
            id=values["id"],
            timestamp=values["timestamp"],
            kind=kind,
            plan=values["plan"],
            task_id=values["task_id"],
            task_name=values["task_name"],
            details=Details.of(values["details"]),
            provenance=_PROVENANCES[values["provenance"]],
            redactions=values["redactions"],
        ),
        version=values["version"],
        prev=values["prev"],
        hash=values["hash"],
    )
    _check(record)
    return record


def canonical(record: Record) -> bytes:
    """Return what the hash is taken over: everything but the hash."""
    _check(record)
    return compose(record).encode("ascii")


def compose(record: Record) -> str:
    """Return the canonical form without looking whether each value is one that JSON has.

    Enough for a record that was read from JSON. A walk over a million records is made of this:
    it calls as little as it can.
    """
    seq, plan_seq, draft, version, prev, _ = record
    id_, timestamp, event, plan, task_id, task_name, details, provenance, redactions = draft
    inner = details.text
    task = "null" if task_id is None else _text(task_id)
    name = "null" if task_name is None else _text(task_name)
    return (
        f'{{"details":{inner},"event":"{event._value_}","id":{_text(id_)}'
        f',"plan":{_text(plan)},"plan_seq":{plan_seq},"prev":{_text(prev)}'
        f',"provenance":"{provenance._value_}","redactions":{redactions},"seq":{seq}'
        f',"task_id":{task},"task_name":{name}'
        f',"timestamp":{_text(timestamp)},"version":{version}}}'
    )


class CanonicalParts(NamedTuple):
    """The canonical form of a record whose place in the chain is not known yet, in pieces.

    `details`, then the number within the plan, the hash before it and the number follow these.
    """

    head: str
    """Before the details."""
    plan_seq: str
    """Before the number within the plan; behind the details."""
    prev: str
    """Before the hash of the record before it."""
    seq: str
    """Before the number."""
    end: str


def compose_parts(draft: Draft, version: int) -> CanonicalParts:
    """Return what `compose` returns, but for the details and the place in the chain."""
    task = "null" if draft.task_id is None else _text(draft.task_id)
    name = "null" if draft.task_name is None else _text(draft.task_name)
    return CanonicalParts(
        head='{"details":',
        plan_seq=f',"event":"{draft.kind.value}","id":{_text(draft.id)},"plan":{_text(draft.plan)}'
        ',"plan_seq":',
        prev=',"prev":"',
        seq=f'","provenance":"{draft.provenance.value}","redactions":{draft.redactions},"seq":',
        end=f',"task_id":{task},"task_name":{name},"timestamp":{_text(draft.timestamp)}'
        f',"version":{version}}}',
    )


_text = encode_basestring_ascii
_KINDS = {kind.value: kind for kind in EventKind}
_PROVENANCES = {provenance.value: provenance for provenance in Provenance}
_KEYS = frozenset(
    "seq timestamp event plan task_id task_name details prev hash".split()
    + "id plan_seq version provenance redactions".split()
)


def _text_or_null(text: str | None) -> str:
    return "null" if text is None else _text(text)


# -- reading -----------------------------------------------------------------------------------


def _wrong_keys(values: Mapping[str, object]) -> str:
    missing = sorted(_KEYS - values.keys())
    if missing:
        return f"`{missing[0]}` is missing"
    unknown = min(values.keys() - _KEYS)
    return f"`{unknown[:40]}` is not a key of a record; written by a newer version?"


def _kind(name: object, version: object) -> EventKind:
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise CodecError(
            f"`{str(name)[:60]}` is not an event that this version knows",
            hint="if a newer version of planbound wrote this journal, read it with that one",
        )
    if not _is_integer(version) or version < 1:
        raise CodecError(f"`version` of a `{kind.value}` is not a number from 1")
    if version > EVENTS[kind].VERSION:
        raise CodecError(
            f"`{kind.value}` is of version {version}, known are those up to {EVENTS[kind].VERSION}",
            hint="a newer version of planbound wrote this journal: read it with that one",
        )
    return kind


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(record: Record) -> None:
    draft = record.draft
    for name, number in (
        ("seq", record.seq),
        ("plan_seq", record.plan_seq),
        ("version", record.version),
        ("redactions", draft.redactions),
    ):
        if not _is_integer(number) or number < 0:
            raise CodecError(f"`{name}` is not a number from 0")
    for name, text in (
        ("id", draft.id),
        ("timestamp", draft.timestamp),
        ("plan", draft.plan),
        ("prev", record.prev),
        ("hash", record.hash),
        ("task_id", "" if draft.task_id is None else draft.task_id),
        ("task_name", "" if draft.task_name is None else draft.task_name),
    ):
        if not isinstance(text, str):
            raise CodecError(f"`{name}` is not text")
        check_text(text, name)
    if not isinstance(draft.details, Details):
        raise CodecError("`details` is not an object")
    draft.details.check()


# -- whether a holder may still write: nobody overtook it, and it did not give its lease back ----


class HeldLease(Struct, frozen=True):
    """What an acquired lease is known by: the number grows with every acquisition of the plan."""

    plan: str
    number: int


class LeaseState(Struct, frozen=True):
    """How a plan's lease stands."""

    number: int
    held: bool
    holder: str
    """Who has it, or had it last; or who needed the worktree of a holder whose time was up."""


def check_lease(held_lease: HeldLease, lease_state: LeaseState | None) -> None:
    """Raise LeaseLost unless the lease is held with exactly this number.

    Its time does not matter: as long as nobody took it over, whoever holds it is the only one.
    """
    if lease_state is not None and lease_state.held and lease_state.number == held_lease.number:
        return
    if lease_state is None or lease_state.number < held_lease.number:
        what = "is not known to this journal"
    elif lease_state.number == held_lease.number:
        what = "was given back"
    else:
        what = f"was lost to {lease_state.holder}"
    raise LeaseLost(
        f"the lease of `{held_lease.plan}` {what}; nothing was written",
        hint="`planbound resume` goes on with the plan when nobody else runs it",
    )


# -- the journal: append-only, ordered, chained --------------------------------------------------


class Query(Struct, frozen=True):
    """Which records are asked for; what is None or empty does not restrict."""

    plan: str | None = None
    task: str | None = None
    """A task's id, or its number as it stood in the plan."""
    events: tuple[EventKind, ...] = ()
    since: str | None = None
    until: str | None = None
    after: int = 0
    """Only records with a higher sequence number."""
    last: int | None = None
    """Only so many, from the end; still in ascending order."""
    before: int | None = None
    """Only records with a lower sequence number."""


class Journal(Protocol):
    """Where events are kept. A failure is a `JournalProblem`.

    That is SQLite, PostgreSQL, or memory: `planbound.testing.journal`.
    """

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expected: Head | None = None,
        held_lease: HeldLease | None = None,
    ) -> Sequence[Record]:
        """Append all or nothing, durable on return.

        Drafts whose id is there already are not appended again; their old records are returned.
        With `expected`, raise `Stale` if the head is another one (and anything is to be appended).
        With `held_lease`, raise `LeaseLost` unless this lease is held still, whatever its time.
        """

    def head(self) -> Head:
        """Return the end of the chain."""

    def read(self, query: Query) -> Iterator[Record]:
        """Yield the records asked for, in ascending order, without holding them all in memory."""

    def wait(self, after: int, seconds: float) -> bool:
        """Return True as soon as there is a record beyond `after`, False when the time is up."""
