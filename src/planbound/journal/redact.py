"""Taking secrets out of a text before it is stored, shown or sent.

All secrets are looked for in the text as it came; what overlaps is taken out as one. That is done
again until nothing more is found, so that redacting what was redacted changes nothing.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.errors import ConfigurationError
from planbound.journal.event import EVENTS, DetailType, EventKind
from planbound.journal.record import Json
from planbound.journal.secret_assignment import find_assignments, is_assigned_secret
from planbound.journal.secret_environment import credentials
from planbound.journal.secret_shape import Secret, SecretKind, find_shapes

_ROUNDS = 8
"""A second round finds what only shows when the first is done; only odd patterns need more."""
_MARK = "[redacted:"
_MARKERS = frozenset(f"{_MARK}{kind.value}]" for kind in SecretKind)
_LONGEST_MARKER = max(map(len, _MARKERS))
_SHA256 = 64
_RANKS = {kind: rank for rank, kind in enumerate(SecretKind)}


class Redacted(NamedTuple):
    """A text without secrets."""

    text: str
    redactions: int
    """How many were taken out."""


class RedactedJson(NamedTuple):
    """A value without secrets."""

    value: Json
    redactions: int


class RedactedDetails(NamedTuple):
    """What an event tells, without secrets."""

    details: dict[str, Json]
    redactions: int


class Redactor:
    """Knows the secrets of an environment, those of a configuration, and well-known shapes."""

    def __init__(self, environment: Mapping[str, str], patterns: Sequence[str] = ()) -> None:
        """Raise ConfigurationError for a pattern that is no regular expression."""
        self._environment = dict(environment)
        self._values: frozenset[str] | None = None
        self._patterns = [_compile(pattern) for pattern in patterns]

    def redact(self, text: str) -> Redacted:
        """Return the text with `[redacted:KIND]` in the place of each secret."""
        redactions = 0
        for _ in range(_ROUNDS):
            secrets = _merge(text, self._find(text))
            if not secrets:
                break
            text = _replace(text, secrets)
            redactions += len(secrets)
        return Redacted(text, redactions)

    def redact_json(self, value: Json) -> RedactedJson:
        """Return the value with every text in it redacted, keys too.

        A text is also a secret where its key says so: `{"password": "..."}`.
        """
        if not self._patterns and not _has_assigned_secret(value):
            # Most have none, and one look at all of it is much faster than one at each text.
            # Patterns of a configuration are left out: some are about where a text begins.
            joined = "\n".join(_texts(value))
            if next(self._find(joined), None) is None:
                return RedactedJson(value, 0)
        return self._redact_json(value)

    def redact_details(self, kind: EventKind, details: Mapping[str, Json]) -> RedactedDetails:
        """Return an event's details without secrets, each treated by its type.

        What is exact stays as it is. A key of the harness's own, such as a path or an id, is not
        the name of a variable, so it gives nothing away about its value.
        """
        types = {spec.name: spec.type for spec in EVENTS[kind].details}
        outside = [_outside(name, types.get(name), value) for name, value in details.items()]
        cleaned, redactions = self.redact_json(outside)
        if not redactions:
            return RedactedDetails(dict(details), 0)
        assert isinstance(cleaned, list)
        result: dict[str, Json] = {}
        for (name, value), clean in zip(details.items(), cleaned, strict=True):
            if name in types:
                result[name] = _inside(types[name], value, clean)
            else:
                assert isinstance(clean, dict)
                result |= clean
        return RedactedDetails(result, redactions)

    def _redact_json(self, value: Json) -> RedactedJson:
        if isinstance(value, str):
            text, redactions = self.redact(value)
            return RedactedJson(text, redactions)
        if isinstance(value, list):
            items = [self._redact_json(item) for item in value]
            return RedactedJson([item.value for item in items], sum(item[1] for item in items))
        if isinstance(value, dict):
            return self._redact_members(value)
        return RedactedJson(value, 0)

    def _redact_members(self, members: dict[str, Json]) -> RedactedJson:
        result: dict[str, Json] = {}
        redactions = 0
        for key, member in members.items():
            name, in_key = self.redact(key)
            if in_key:
                name = _unused(name, members, result)
            value, in_value = self._redact_json(member)
            texts = (text for text in (member, value) if isinstance(text, str))
            if any(is_assigned_secret(key, text) for text in texts):
                value, in_value = f"{_MARK}{SecretKind.CREDENTIAL.value}]", max(1, in_value)
            result[name] = value
            redactions += in_key + in_value
        return RedactedJson(result, redactions)

    def _find(self, text: str) -> Iterator[Secret]:
        if self._values is None:
            self._values = credentials(self._environment)
        for value in self._values:
            start = text.find(value)
            while start >= 0:
                end = start + len(value)
                yield Secret(start, end, SecretKind.ENVIRONMENT)
                start = text.find(value, end)
        for pattern in self._patterns:
            for match in pattern.finditer(text):
                yield Secret(*match.span(), SecretKind.CONFIGURED)
        folded = text.lower()
        yield from find_shapes(text, folded)
        yield from find_assignments(text, folded)


def was_redacted(text: str) -> bool:
    """Say whether something was taken out of a text."""
    return any(marker in text for marker in _MARKERS)


_EXACT = frozenset(
    {
        DetailType.EXACT,
        DetailType.EXACT_OR_NULL,
        DetailType.EXACTS,
        DetailType.EXACT_OBJECT,
        DetailType.INTEGER,
        DetailType.INTEGER_OR_NULL,
        DetailType.NUMBER,
        DetailType.FLAG,
    }
)


def _outside(name: str, type_: DetailType | None, value: Json) -> Json:
    """Return the part of a detail that may come from outside."""
    if type_ is None:  # somebody's own: its name may say that it is a secret
        return {name: value}
    if type_ in _EXACT:
        return None
    if type_ is DetailType.TEXTS_BY_ID and isinstance(value, dict):
        return list(value.values())
    if type_ is DetailType.SOURCES and isinstance(value, list):
        return [_source(str(item))[0] for item in value]
    return value


def _inside(type_: DetailType, value: Json, clean: Json) -> Json:
    """Return a detail with its cleaned part in its place."""
    if type_ in _EXACT:
        return value
    if type_ is DetailType.TEXTS_BY_ID and isinstance(value, dict) and isinstance(clean, list):
        return dict(zip(value, clean, strict=True))
    if type_ is DetailType.SOURCES and isinstance(value, list) and isinstance(clean, list):
        pairs = zip(value, clean, strict=True)
        return [f"{name}{_source(str(item))[1]}" for item, name in pairs]
    return clean


def _source(item: str) -> tuple[str, str]:
    """Return a name, and behind it the digest with the space between them, where there is one."""
    name, space, digest = item.rpartition(" ")
    is_digest = len(digest) == _SHA256 and all(letter in string.hexdigits for letter in digest)
    return (name, space + digest) if is_digest else (item, "")


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigurationError(
            f"`{pattern}` is not a regular expression: {error}",
            hint="mend it among the patterns to redact in the configuration",
        ) from error


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from value
        for member in value.values():
            yield from _texts(member)


def _has_assigned_secret(value: Json) -> bool:
    if isinstance(value, list):
        return any(_has_assigned_secret(item) for item in value)
    if isinstance(value, dict):
        return any(
            is_assigned_secret(key, member)
            if isinstance(member, str)
            else _has_assigned_secret(member)
            for key, member in value.items()
        )
    return False


def _merge(text: str, secrets: Iterator[Secret]) -> list[Secret]:
    """Return the secrets in their order, overlapping ones as one, without what was redacted."""
    markers = _Markers(text)
    found = filter(None, map(markers.widen, secrets))
    merged: list[Secret] = []
    widest = (0, 0)
    for secret in sorted(found, key=lambda secret: secret[:2]):
        width = (secret.end - secret.start, -_RANKS[secret.kind])
        last = merged[-1] if merged else None
        if last is None or secret.start >= last.end:
            merged.append(secret)
            widest = width
        else:
            kind = secret.kind if width > widest else last.kind
            merged[-1] = Secret(last.start, max(last.end, secret.end), kind)
            widest = max(width, widest)
    return merged


class _Markers:
    """Where a text was redacted already."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        start = text.find(_MARK)
        while start >= 0:
            end = text.find("]", start, start + _LONGEST_MARKER) + 1
            if text[start:end] in _MARKERS:
                self._starts.append(start)
                self._ends.append(end)
            start = text.find(_MARK, start + 1)

    def widen(self, secret: Secret) -> Secret | None:
        """Return the secret with the whole of each marker it meets; None if it is nothing else."""
        start, end, kind = secret
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        marked = sum(self._ends[first:last]) - sum(self._starts[first:last])
        return Secret(start, end, kind) if marked < end - start else None


def _replace(text: str, secrets: list[Secret]) -> str:
    parts: list[str] = []
    position = 0
    for start, end, kind in secrets:
        parts += (text[position:start], f"{_MARK}{kind.value}]")
        position = end
    return "".join([*parts, text[position:]])


def _unused(name: str, *taken: Mapping[str, Json]) -> str:
    """Return the name, with a number if another key was redacted to the same one."""
    candidate, number = name, 1
    while any(candidate in names for names in taken):
        number += 1
        candidate = f"{name} ({number})"
    return candidate
