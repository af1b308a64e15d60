"""Who is told of which events: `[[notify]]` of the configuration."""

from __future__ import annotations

import hashlib
import json
import re
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from planbound.engine.configuration_table import Table
from planbound.journal.event import EventKind
from planbound.plan.suggest import nearest

ALL = "*"
"""Stands for every event."""
MAX_RETRIES = 20
_KEYS = ("events", "command", "url", "secret_env", "timeout", "retries")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_EXAMPLE = 'write `events = ["RECOVERY_ESCALATION", "EXECUTION_COMPLETE"]`, or `["*"]` for all'
_ADDRESS = "write an `https` address, or an `http` one of this machine, such as `127.0.0.1`"


class Command(NamedTuple):
    """A program that is started for each event."""

    words: tuple[str, ...]

    @property
    def shown(self) -> str:
        """How people know it; what follows the program may be anything."""
        return self.words[0]


class Webhook(NamedTuple):
    """An address that each event is posted to."""

    secure: bool
    """Whether by `https`; otherwise the host is this machine."""
    host: str
    port: int
    path: str
    """With the query, as it is sent."""
    secret_env: str
    """The variable that holds what messages are signed with."""

    @property
    def shown(self) -> str:
        """How people know it; without the path, which may be a secret itself."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.secure else 80
        port = "" if self.port == usual else f":{self.port}"
        return f"{'https' if self.secure else 'http'}://{host}{port}"


class Notify(NamedTuple):
    """Who is told, and of what."""

    target: Command | Webhook
    events: tuple[EventKind, ...] = ()
    """Empty: all."""
    seconds: float = 10.0
    """How long a receiver has for one event."""
    retries: int = 5


def identity(entry: Notify, journal: str) -> str:
    """Return what an entry is known by: its receiver, its events, and whose events they are."""
    target = entry.target
    where = target._replace(secret_env="") if isinstance(target, Webhook) else target
    events = sorted(kind.value for kind in entry.events)
    parts = [type(target).__name__, list(where), events, journal]
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


def is_loopback(address: str) -> bool:
    """Say whether an address can only be of this machine."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def read_notify(top: Table) -> tuple[Notify, ...]:
    """Return the entries of a configuration; raise ConfigurationError with the key."""
    tables = top.tables("notify")
    # What stands here is run and sent outside of any cell, and only this one file is out of
    # every agent's reach; `pyproject.toml` may well be part of a step.
    if tables and not top.path.endswith("planbound.toml"):
        top.refuse("notify", "stands", "write it in `planbound.toml`, which no agent can change")
    return tuple(map(_entry, tables))


def _entry(table: Table) -> Notify:
    table.allow(*_KEYS)
    if ("command" in table.values) == ("url" in table.values):
        table.refuse("command", "and `url` are both there, or neither", "write one of them")
    if "url" not in table.values and "secret_env" in table.values:
        table.refuse("secret_env", "is for a `url` only", "take it away")
    usual = Notify(Command(()))
    return Notify(
        target=_webhook(table) if "url" in table.values else _command(table),
        events=_events(table),
        seconds=table.seconds("timeout", usual.seconds),
        retries=_retries(table, usual.retries),
    )


def _events(table: Table) -> tuple[EventKind, ...]:
    names = table.texts("events", "a list of names of events")
    if not names:
        table.refuse("events", "names no event", _EXAMPLE)
    for name in names:
        if name != ALL and name not in EventKind.__members__:
            near = nearest(name, EventKind.__members__)
            hint = f"did you mean `{near}`?" if near else _EXAMPLE
            table.refuse("events", f"holds `{name}`, which is no event,", hint)
    return () if ALL in names else tuple(EventKind[name] for name in dict.fromkeys(names))


def _retries(table: Table, default: int) -> int:
    value = table.values.get("retries", default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_RETRIES:
        table.refuse("retries", f"is {value!r}", f"write a number from 0 to {MAX_RETRIES}")
    return value


def _command(table: Table) -> Command:
    words = table.texts("command", "a list of words")
    if not words or not words[0]:
        table.refuse("command", "names no program", 'write `command = ["notify-send", "done"]`')
    if any("\0" in word for word in words):
        table.refuse("command", "holds a NUL", "take it away")
    if "/" in words[0] and not words[0].startswith("/"):
        # Agents write to the workspace: what lies there must not be run outside of their cells.
        hint = "name a program on the PATH, or one outside the workspace by its absolute path"
        table.refuse("command", f"starts `{words[0]}` from the workspace", hint)
    return Command(words)


def _webhook(table: Table) -> Webhook:
    parts, host, port = _address(table)
    secure = parts.scheme == "https"
    if not secure and host != "localhost" and not is_loopback(host):
        table.refuse("url", f"goes to `{host}` by `{parts.scheme}`", _ADDRESS)
    secret = table.values.get("secret_env")
    if not isinstance(secret, str) or not _NAME.fullmatch(secret):
        found = "is missing" if secret is None else f"is {secret!r}"
        hint = 'name the variable that holds what is signed with: `secret_env = "HOOK_SECRET"`'
        table.refuse("secret_env", found, hint)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Webhook(secure, host, port or (443 if secure else 80), path, secret)


def _address(table: Table) -> tuple[SplitResult, str, int | None]:
    """Return the parts of an address that every reader takes for the same one."""
    url = table.values["url"]
    # Never quoted back as a whole: people put secrets into addresses.
    if not isinstance(url, str) or not re.fullmatch(r"[!-\[\]-~]+", url):
        table.refuse("url", "is not an address in plain letters", _ADDRESS)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        table.refuse("url", "cannot be read", _ADDRESS)
    if parts.scheme not in {"http", "https"}:
        table.refuse("url", "is neither `https` nor `http`", _ADDRESS)
    if "@" in parts.netloc:
        table.refuse("url", "holds a user's name or password", "take it away; messages are signed")
    if parts.fragment or port == 0 or not (_HOST.fullmatch(host) or _is_ipv6(host)):
        table.refuse("url", "is not the address of a receiver", _ADDRESS)
    return parts, host, port


def _is_ipv6(host: str) -> bool:
    try:
        return ip_address(host).version == 6 and "%" not in host
    except ValueError:
        return False
