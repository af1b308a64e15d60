"""Taking secrets out of a text before it is stored, shown or sent.

All secrets are looked for in the text as it came; what overlaps is taken out as one. That is done
again until nothing more is found, so that redacting what was redacted changes nothing.
"""

import json
import re
from binascii import b2a_base64
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from msgspec import Struct

from planbound.errors import ConfigurationError
from planbound.journal.disguises import find_dressed, squeezed_spellings, without_unseen
from planbound.journal.event import EVENTS, EventKind, fields_of
from planbound.journal.fields import MARK, MARKERS, Exact, FreeNames, FreeValues, Marker, SecretKind
from planbound.journal.record import Json
from planbound.journal.secrets import (
    Secret,
    find_assignments,
    find_shapes,
    is_assigned_secret,
)

# -- secrets of the environment: values of variables whose names look like credentials -----------


SHORTEST = 6
"""A shorter value would be found in half of all words."""

_CREDENTIAL = (
    "SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|WEBHOOK|AUTHORIZATION|TOKEN(?!IZE)"
    "|(?:API|ACCESS|PRIVATE|SESSION|ENCRYPTION|SIGNING|MASTER|DEPLOY|ACCOUNT)_?KEY|_KEYS?$"
    "|CONNECTION_?STRING|(?:^|_)(?:AUTH|PASS|PWD|PAT|DSN|COOKIE|JWT)(?:_|$)|PGPASS$"
    "|(?:DATABASE|DB|POSTGRES|POSTGRESQL|PG|MYSQL|MARIADB|REDIS|MONGO|MONGODB|AMQP|RABBITMQ"
    "|BROKER|KAFKA|CELERY|CLICKHOUSE|ELASTICSEARCH)_?UR[IL]$"
)
_HARMLESS_NAME = (
    "(?:^|_)PUBLIC(?:_|$)|^(?:OLD)?PWD$|_(?:SOCK|SOCKET|FILES?|PATH|DIRS?|DIRECTORY|HOME|COMMAND"
    "|HELPER|PROVIDER|METHOD|TYPE|MODE|NAME|USER|USERNAME|EMAIL|HOST|PORT|TTL|TIMEOUT|EXPIRY"
    "|EXPIRES|EXPIRES_AT|EXPIRES_IN|LIMIT|COUNT|ENABLED|REQUIRED|VERSION|REGION|ALGORITHM|LENGTH"
    "|SIZE|AUDIENCE|ISSUER)$"
)
_HARMLESS_VALUES = frozenset(
    "default disabled enabled keychain keyring optional prompt required system undefined".split()
)
_PATH = (
    r"(?:/(?:home|usr|var|run|tmp|etc|opt|root|private|Users|mnt|dev|proc|srv|nix|snap|app|bin"
    r"|workspace)/|~/|\.{1,2}/)[\w./@+:-]*"
)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def credentials(environment: Mapping[str, str]) -> frozenset[str]:
    """Return every spelling of every value that must not be shown."""
    return frozenset(
        spelling
        for name, value in environment.items()
        if is_credential(name, value)
        for secret in (value, *_passwords(value))
        for spelling in _spellings(secret)
        if len(spelling) >= SHORTEST
    )


def is_credential(name: str, value: str) -> bool:
    """Say whether the value of a variable is to be taken for a secret."""
    name, value = name.upper(), value.strip()
    if len(value) < SHORTEST or value.lower() in _HARMLESS_VALUES:
        return False
    if not _compiled(_CREDENTIAL).search(name) or _compiled(_HARMLESS_NAME).search(name):
        return False
    if "TOKENS" in name and value.isdecimal():  # a limit
        return False
    if name.endswith(("_URL", "_URI", "_ENDPOINT")) and "WEBHOOK" not in name:
        return "://" not in value or "@" in value or "password=" in value
    return _compiled(_PATH).fullmatch(value) is None


_IN_ADDRESS = r"""://[^/@\s:]*:([^/@\s]+)@|password\s*=\s*(?:'([^']+)'|([^\s'&]+))"""


def _passwords(value: str) -> Iterator[str]:
    """Yield the passwords within an address of a database: they are secrets without it, too.

    One that is also the user or the database is a word that people write.
    """
    if "@" not in value and "password" not in value:
        return
    from urllib.parse import unquote  # noqa: PLC0415 - start-up

    for found in _compiled(_IN_ADDRESS).finditer(value):
        password = next(part for part in found.groups() if part)
        if value.count(password) == 1:
            yield password
            yield unquote(password)


def _spellings(value: str) -> Iterator[str]:
    """Yield a value as it stands, and as tools write it: quoted, encoded, line by line."""
    stripped = value.strip()
    yield stripped
    yield json.dumps(stripped)[1:-1]
    yield json.dumps(stripped, ensure_ascii=False)[1:-1]
    encoded = stripped.encode("utf-8", "surrogatepass")
    yield encoded.decode("latin-1")  # each byte escaped by itself: `\303\251`, `%c3%a9`
    yield _percent(encoded, b"")
    yield _percent(encoded, b"/")
    # Of the last bytes the form depends on what follows.
    base64 = b2a_base64(encoded[: len(encoded) // 3 * 3], newline=False).decode("ascii")
    yield base64
    yield base64.replace("+", "-").replace("/", "_")
    lines = stripped.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= 16)


def _percent(encoded: bytes, safe: bytes) -> str:
    return "".join(
        chr(byte) if byte in _UNRESERVED or byte in safe else f"%{byte:02X}" for byte in encoded
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# -- taking secrets out of a text before it is stored, shown or sent -----------------------------


_ROUNDS = 8
"""A second round finds what only shows when the first is done; only odd patterns need more."""
_SHORT, _MOST_KNOWN = 200, 256
_LONGEST_MARKER = max(map(len, MARKERS))
_HEX = frozenset("0123456789abcdefABCDEF")
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


class RedactedDetails(Struct, frozen=True):
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
        self._known: dict[str, Redacted] = {}
        """Of the last short texts: titles and reasons are told again with every event."""

    def redact(self, text: str) -> Redacted:
        """Return the text with `[redacted:KIND]` in the place of each secret."""
        if len(text) > _SHORT:
            return self._redact(text)
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[text] = self._redact(text)
        return known

    def _redact(self, text: str) -> Redacted:
        redactions = 0
        for _ in range(_ROUNDS):
            secrets = _merge(text, self._find_all(text))
            if not secrets:
                break
            text = _replace(text, secrets)
            redactions += len(secrets)
        return Redacted(text, redactions)

    def may_hide(self, texts: Iterable[str]) -> bool:
        """Say whether there may be a secret in one of many texts, by one look at all of them.

        Patterns of a configuration may be about where a text begins: with them nobody knows.
        """
        return bool(self._patterns) or next(self._find_all("\n".join(texts)), None) is not None

    def redact_json(self, value: Json) -> RedactedJson:
        """Return the value with every text in it redacted, keys too.

        A text is also a secret where its key says so: `{"password": "..."}`.
        """
        # Most have none, and one look at all of it is much faster than one at each text.
        if not _has_assigned_secret(value) and not self.may_hide(_texts(value)):
            return RedactedJson(value, 0)
        return self._redact_json(value)

    def redact_details(self, kind: EventKind, details: Mapping[str, Json]) -> RedactedDetails:
        """Return an event's details without secrets, each treated by where it comes from.

        What is exact stays as it is. A key of the harness's own, such as a path or an id, is not
        the name of a variable, so it gives nothing away about its value.
        """
        markers = _markers(kind)
        outside = [_outside(name, markers.get(name), value) for name, value in details.items()]
        cleaned, redactions = self.redact_json(outside)
        if not redactions:
            return RedactedDetails(dict(details), 0)
        assert isinstance(cleaned, list)
        result: dict[str, Json] = {}
        for (name, value), clean in zip(details.items(), cleaned, strict=True):
            if name in markers:
                result[name] = _inside(markers[name], value, clean)
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
                value, in_value = f"{MARK}{SecretKind.CREDENTIAL.value}]", max(1, in_value)
            result[name] = value
            redactions += in_key + in_value
        return RedactedJson(result, redactions)

    def _find_all(self, text: str) -> Iterator[Secret]:
        """Find secrets as they are, and in other clothes."""
        shown = without_unseen(text)
        if shown is None:
            yield from self._find(text)
            yield from find_dressed(text, self._find, self._squeezed)
            return
        yield from self._find_known(text)  # these may have in them what nobody sees
        yield from map(shown.place, self._find(shown.text))
        yield from map(shown.place, find_dressed(shown.text, self._find, self._squeezed))
        for part in shown.unshown:
            yield from map(part.place, self._find(part.text))
            yield from map(part.place, find_dressed(part.text, self._find, self._squeezed))

    def _find(self, text: str) -> Iterator[Secret]:
        yield from self._find_known(text)
        folded = text.lower()
        yield from find_shapes(text, folded)
        yield from find_assignments(text, folded)

    def _find_known(self, text: str) -> Iterator[Secret]:
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

    @cached_property
    def _squeezed(self) -> frozenset[bytes]:
        return squeezed_spellings(
            value for name, value in self._environment.items() if is_credential(name, value)
        )


@cache
def _markers(kind: EventKind) -> Mapping[str, Marker]:
    return {field.name: field.marker for field in fields_of(EVENTS[kind])}


def _outside(name: str, marker: Marker | None, value: Json) -> Json:
    """Return the part of a detail that may come from outside."""
    if marker is None:  # somebody's own: its name may say that it is a secret
        return {name: value}
    if isinstance(marker, Exact):
        return None
    if isinstance(marker, FreeValues) and isinstance(value, dict):
        return list(value.values())
    if isinstance(marker, FreeNames) and isinstance(value, list):
        return [_source(str(item))[0] for item in value]
    return value


def _inside(marker: Marker, value: Json, clean: Json) -> Json:
    """Return a detail with its cleaned part in its place."""
    if isinstance(marker, Exact):
        return value
    if isinstance(marker, FreeValues) and isinstance(value, dict) and isinstance(clean, list):
        return dict(zip(value, clean, strict=True))
    if isinstance(marker, FreeNames) and isinstance(value, list) and isinstance(clean, list):
        pairs = zip(value, clean, strict=True)
        return [f"{name}{_source(str(item))[1]}" for item, name in pairs]
    return clean


def _source(item: str) -> tuple[str, str]:
    """Return a name, and behind it the digest with the space between them, where there is one."""
    name, space, digest = item.rpartition(" ")
    is_digest = len(digest) == _SHA256 and all(letter in _HEX for letter in digest)
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
        start = text.find(MARK)
        while start >= 0:
            end = text.find("]", start, start + _LONGEST_MARKER) + 1
            if text[start:end] in MARKERS:
                self._starts.append(start)
                self._ends.append(end)
            start = text.find(MARK, start + 1)

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
        parts += (text[position:start], f"{MARK}{kind.value}]")
        position = end
    return "".join([*parts, text[position:]])


def _unused(name: str, *taken: Mapping[str, Json]) -> str:
    """Return the name, with a number if another key was redacted to the same one."""
    candidate, number = name, 1
    while any(candidate in names for names in taken):
        number += 1
        candidate = f"{name} ({number})"
    return candidate
