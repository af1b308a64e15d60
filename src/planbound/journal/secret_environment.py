"""Secrets of the environment: values of variables whose names look like credentials."""

from __future__ import annotations

import json
import re
from binascii import b2a_base64
from collections.abc import Iterator, Mapping
from functools import cache

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
        for spelling in _spellings(value)
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
        return "://" not in value or "@" in value
    return _compiled(_PATH).fullmatch(value) is None


def _spellings(value: str) -> Iterator[str]:
    """Yield a value as it stands, and as tools write it: quoted, encoded, line by line."""
    stripped = value.strip()
    yield stripped
    yield json.dumps(stripped)[1:-1]
    yield json.dumps(stripped, ensure_ascii=False)[1:-1]
    encoded = stripped.encode("utf-8", "surrogatepass")
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
