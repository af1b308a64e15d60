"""Records as JSON: one line each to show and to keep, one canonical form to hash.

The canonical form has sorted keys, no spaces and nothing but ASCII. What has no single way to be
written (NaN, keys that are not text, lone surrogates) is refused. The form is fixed: every hash
that was ever stored depends on it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring_ascii
from typing import Any, NoReturn, TypeGuard

from planbound.errors import JournalProblem
from planbound.journal.event import EVENTS, EventKind
from planbound.journal.record import Draft, Json, Provenance, Record

MAX_DEPTH = 64
"""How deep details may be nested; deeper ones would depend on the reader's stack."""


class CodecError(JournalProblem):
    """A record that cannot be written as JSON, or a text that is no record."""


class Details(Mapping[str, Json]):
    """Details as a store kept them: hashed as they stand, read only when somebody looks."""

    __slots__ = ("_values", "text")

    def __init__(self, text: str) -> None:
        """Take what `details_text` returned once."""
        self.text = text
        self._values: dict[str, Json] | None = None

    def __getitem__(self, name: str) -> Json:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return f"Details({self.text!r})"

    def _read(self) -> dict[str, Json]:
        if self._values is None:
            values = _parse(self.text)
            _check_details(values)
            self._values = values
        return self._values


def encode(record: Record) -> str:
    """Return a record as one line of JSON, without the line end."""
    _check(record)
    draft = record.draft
    return (
        f'{{"seq":{record.seq},"timestamp":{_text(draft.timestamp)}'
        f',"event":{_text(draft.event.value)},"plan":{_text(draft.plan)}'
        f',"task_id":{_text_or_null(draft.task_id)},"task_name":{_text_or_null(draft.task_name)}'
        f',"details":{_details(draft.details)},"prev":{_text(record.prev)}'
        f',"hash":{_text(record.hash)},"id":{_text(draft.id)},"plan_seq":{record.plan_seq}'
        f',"version":{record.version},"provenance":{_text(draft.provenance.value)}'
        f',"redactions":{draft.redactions}}}'
    )


def decode(text: str) -> Record:
    """Return the record that `encode` wrote; raise CodecError where the text is none."""
    values = _parse(text)
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
            event=kind,
            plan=values["plan"],
            task_id=values["task_id"],
            task_name=values["task_name"],
            details=values["details"],
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
    inner = details.text if type(details) is Details else _details(details)
    task = "null" if task_id is None else _text(task_id)
    name = "null" if task_name is None else _text(task_name)
    return (
        f'{{"details":{inner},"event":"{event._value_}","id":{_text(id_)}'
        f',"plan":{_text(plan)},"plan_seq":{plan_seq},"prev":{_text(prev)}'
        f',"provenance":"{provenance._value_}","redactions":{redactions},"seq":{seq}'
        f',"task_id":{task},"task_name":{name}'
        f',"timestamp":{_text(timestamp)},"version":{version}}}'
    )


def details_text(details: Mapping[str, Json]) -> str:
    """Return details in their canonical form, as a store keeps them."""
    if not isinstance(details, Details):
        _check_details(details)
    return _details(details)


_text = encode_basestring_ascii
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_KINDS = {kind.value: kind for kind in EventKind}
_PROVENANCES = {provenance.value: provenance for provenance in Provenance}
_KEYS = frozenset(
    "seq timestamp event plan task_id task_name details prev hash".split()
    + "id plan_seq version provenance redactions".split()
)


def _text_or_null(text: str | None) -> str:
    return "null" if text is None else _text(text)


def _details(details: Mapping[str, Json]) -> str:
    if type(details) is Details:
        return details.text
    return _encode(details if type(details) is dict else dict(details)) if details else "{}"


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


def _parse(text: str) -> dict[str, Any]:
    try:
        values: object = _decoder.decode(text)
    except RecursionError as error:
        raise CodecError("the text is nested too deep") from error
    except ValueError as error:
        raise CodecError(f"the text is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise CodecError("the text is not a JSON object")
    return values


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
    if version > EVENTS[kind].version:
        raise CodecError(
            f"`{kind.value}` is of version {version}, known are those up to {EVENTS[kind].version}",
            hint="a newer version of planbound wrote this journal: read it with that one",
        )
    return kind


# -- checking ----------------------------------------------------------------------------------


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(record: Record) -> None:
    draft = record.draft
    numbers: dict[str, object] = {
        "seq": record.seq,
        "plan_seq": record.plan_seq,
        "version": record.version,
        "redactions": draft.redactions,
    }
    for name, number in numbers.items():
        if not _is_integer(number) or number < 0:
            raise CodecError(f"`{name}` is not a number from 0")
    texts: dict[str, object] = {
        "id": draft.id,
        "timestamp": draft.timestamp,
        "plan": draft.plan,
        "prev": record.prev,
        "hash": record.hash,
    }
    optional = {"task_id": draft.task_id, "task_name": draft.task_name}
    texts |= {name: value for name, value in optional.items() if value is not None}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise CodecError(f"`{name}` is not text")
        _check_text(text, name)
    _check_details(draft.details)


def _check_details(details: object) -> None:
    if not isinstance(details, Mapping):
        raise CodecError("`details` is not an object")
    _check_members(details, 1)


def _check_value(value: object, depth: int) -> None:
    if isinstance(value, str):
        _check_text(value, "details")
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
        _check_text(key, "details")
        _check_value(value, depth + 1)


def _check_text(text: str, where: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise CodecError(f"`{where}` holds the lone surrogate U+{code:04X}") from error
