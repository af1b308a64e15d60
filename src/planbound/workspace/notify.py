"""Who is told of which events: `[[notify]]` of the configuration."""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from planbound.journal.event import EventKind
from planbound.journal.record import Details, Journal, Provenance, Query, Record, encode
from planbound.journal.redact import Redactor
from planbound.plan.vocabulary import nearest
from planbound.workspace.configuration_table import Table
from planbound.workspace.progress import ProgressLines

if TYPE_CHECKING:
    from planbound.workspace.receivers import CursorFile, Sender
    from planbound.workspace.told import QuestionLinks

# -- who is told of which events: `[[notify]]` of the configuration ------------------------------


ALL = "*"
"""Stands for every event."""
MAX_RETRIES = 20
_KEYS = ("events", "command", "url", "desktop", "secret_env", "person", "timeout", "retries")
_LONGEST_NAME = 200
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_EXAMPLE = 'write `events = ["RECOVERY_ESCALATION", "EXECUTION_COMPLETE"]`, or `["*"]` for all'
_ADDRESS = "write an `https` address, or an `http` one of this machine, such as `127.0.0.1`"


class NotifyCommand(Struct, frozen=True):
    """A program that is started for each event."""

    words: tuple[str, ...]

    @property
    def shown(self) -> str:
        """How people know it; what follows the program may be anything."""
        return self.words[0]


class Webhook(Struct, frozen=True):
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


class Desktop(Struct, frozen=True):
    """The desktop of whoever runs this: `notify-send`, or `osascript` on a Mac."""

    @property
    def shown(self) -> str:
        """How people know it."""
        return "the desktop"


class Notify(Struct, frozen=True):
    """Who is told, and of what."""

    target: NotifyCommand | Webhook | Desktop
    events: tuple[EventKind, ...] = ()
    """Empty: all."""
    seconds: float = 10.0
    """How long a receiver has for one event."""
    retries: int = 5
    person: str | None = None
    """Who reads it: for them a link can be made that decides one question."""


def identity(entry: Notify, journal: str) -> str:
    """Return what an entry is known by: its receiver, its events, and whose events they are."""
    match entry.target:
        case Webhook() as hook:
            # The name of the variable says nothing about who it is.
            where = ["Webhook", [hook.secure, hook.host, hook.port, hook.path, ""]]
        case NotifyCommand(words):
            where = ["Command", [words]]
        case Desktop():
            where = ["Desktop", []]
    events = sorted(kind.value for kind in entry.events)
    parts = [*where, events, journal]
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
    has_desktop = table.flag("desktop", default=False)
    if ("command" in table) + ("url" in table) + has_desktop != 1:
        if has_desktop:
            table.refuse(
                "desktop", "stands beside another receiver", "give each a table of its own"
            )
        table.refuse("command", "and `url` are both there, or neither", "write one of them")
    if "url" not in table and "secret_env" in table:
        table.refuse("secret_env", "is for a `url` only", "take it away")
    usual = Notify(NotifyCommand(()))
    return Notify(
        target=_target(table),
        events=_events(table),
        seconds=table.seconds("timeout", usual.seconds),
        retries=table.number("retries", usual.retries, MAX_RETRIES),
        person=_person(table),
    )


def _target(table: Table) -> NotifyCommand | Webhook | Desktop:
    if "url" in table:
        return _webhook(table)
    return _command(table) if "command" in table else Desktop()


def _person(table: Table) -> str | None:
    name = table.get("person")
    if name is None:
        return None
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
        table.refuse("person", f"is {name!r}", 'name who reads it: `person = "mara"`')
    return name.strip()


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


def _command(table: Table) -> NotifyCommand:
    words = table.texts("command", "a list of words")
    if not words or not words[0]:
        table.refuse("command", "names no program", 'write `command = ["notify-send", "done"]`')
    if any("\0" in word for word in words):
        table.refuse("command", "holds a NUL", "take it away")
    if "/" in words[0] and not words[0].startswith("/"):
        # Agents write to the workspace: what lies there must not be run outside of their cells.
        hint = "name a program on the PATH, or one outside the workspace by its absolute path"
        table.refuse("command", f"starts `{words[0]}` from the workspace", hint)
    return NotifyCommand(words)


def _webhook(table: Table) -> Webhook:
    parts, host, port = _address(table)
    secure = parts.scheme == "https"
    if not secure and host != "localhost" and not is_loopback(host):
        table.refuse("url", f"goes to `{host}` by `{parts.scheme}`", _ADDRESS)
    secret = table.get("secret_env")
    if not isinstance(secret, str) or not _NAME.fullmatch(secret):
        found = "is missing" if secret is None else f"is {secret!r}"
        hint = 'name the variable that holds what is signed with: `secret_env = "HOOK_SECRET"`'
        table.refuse("secret_env", found, hint)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Webhook(secure, host, port or (443 if secure else 80), path, secret)


def _address(table: Table) -> tuple[SplitResult, str, int | None]:
    """Return the parts of an address that every reader takes for the same one."""
    url = table.get("url")
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


# -- telling others what happened: how a message is handed over, and how far each entry has come -


class Message(NamedTuple):
    """One event on its way to a receiver."""

    id: str
    """The event's own: a receiver that saw it already can drop it."""
    event: str
    plan: str
    task: str
    """Empty where it is about no step."""
    body: bytes
    """The event as JSON."""
    words: str = ""
    """What happened, in a line."""
    link: str = ""
    """Where a question is decided; empty where nothing is asked, or no page runs."""


class Reception(enum.Enum):
    """What a receiver did with a message."""

    TAKEN = "taken"
    REFUSED = "refused"
    """Or was not there, or took too long."""
    BROKEN_OFF = "broken off"
    """We did not wait for it: it is neither delivered nor refused."""


class Response(NamedTuple):
    """What became of a message."""

    reception: Reception
    reason: str = ""
    """Why it was refused, without secrets."""


class GivenUp(NamedTuple):
    """An event that a receiver did not take, however often it was tried."""

    id: str
    seq: int
    event: str
    reason: str
    at: float


class Cursor(NamedTuple):
    """How far an entry has come."""

    seq: int
    """The last record of the journal that needs no more thought."""
    target: str = ""
    """The receiver, as it is shown."""
    tries: int = 0
    """How often the next one was tried already."""
    due: float = 0.0
    """When it may be tried again, in seconds since 1970."""
    reason: str = ""
    """Why the last try failed."""
    delivered: float = 0.0
    """When the last one was taken."""
    given_up: tuple[GivenUp, ...] = ()
    """The last ones, the newest at the end."""
    start: int = 0
    """The last record that was there before the entry was: it was told of none of them."""


# -- tell receivers what happened: in order, at least once, and never for ever -------------------


BACKOFF = (1.0, 5.0, 30.0, 120.0, 300.0)
"""How many seconds to wait after the first failure, the second, and so on; then the last."""
_FAR = 500
"""So many records that concern nobody are walked over before that is written down."""
_SHORTEST = 0.1


class Fate(enum.Enum):
    """What became of one try."""

    DELIVERED = "delivered"
    FAILED = "failed"
    """To be tried again."""
    GIVEN_UP = "given up"
    BROKEN_OFF = "broken off"
    """To be tried again, and not counted."""


class DeliveryAttempt(NamedTuple):
    """One try to tell one receiver of one event."""

    entry: Notify
    record: Record
    fate: Fate
    tries: int
    reason: str


class Messenger(NamedTuple):
    """What writes and sends messages."""

    sender: Sender
    redactor: Redactor
    project: str
    links: QuestionLinks | None = None
    """What makes links to the page."""

    def message(self, record: Record, entry: Notify) -> Message:
        """Return the event as `planbound log --json` prints it, with the project.

        The journal holds no secrets that were known when it was written; this takes out those
        that are known by now.
        """
        draft = record.draft
        found = self.redactor.redact_details(draft.kind, draft.details.json())
        title, in_title = self.redactor.redact(draft.task_name or "")
        if found.redactions or in_title:
            draft = draft._replace(
                details=Details.of(found.details),
                task_name=title if draft.task_name is not None else None,
                redactions=draft.redactions + found.redactions + in_title,
            )
            record = record._replace(draft=draft)
        # Not in the journal: whoever has the link can decide.
        link = self.links.address(entry, record) if self.links is not None else None
        more = f',"link":{json.dumps(link)}' if link else ""
        text = f'{encode(record)[:-1]},"project":{json.dumps(self.project)}{more}}}'
        return Message(
            id=draft.id,
            event=draft.kind.value,
            plan=draft.plan,
            task=draft.task_id or "",
            body=text.encode("ascii"),
            words=ProgressLines().line(record) or draft.kind.value,
            link=link or "",
        )


class Deliveries:
    """What is to be delivered from one journal; entries may be worked on by a thread each.

    `place` is what tells this journal from others whose cursors are kept with its own.
    """

    def __init__(
        self,
        journal: Journal,
        cursors: CursorFile,
        messenger: Messenger,
        *,
        now: Callable[[], float],
        place: str,
    ) -> None:
        self._journal = journal
        self._cursors = cursors
        self._messenger = messenger
        self._now = now
        self._place = place
        self._walked: dict[str, int] = {}

    def enter(self, entries: Iterable[Notify]) -> Sequence[Notify]:
        """Let entries that were never seen begin with what happens next; return these."""
        new = []
        for entry in entries:
            start = self._beginning(entry)
            if self._cursors.enter(self._identity(entry), start):
                new.append(entry)
        return new

    def alone(self, entry: Notify) -> AbstractContextManager[bool]:
        """Keep all others from delivering for an entry; False where another does it now."""
        return self._cursors.alone(self._identity(entry))

    def wait(self, entry: Notify) -> float | None:
        """Return in how many seconds something is to be done; None where nothing is."""
        cursor = self._cursor(entry)
        return None if self._next(entry, cursor) is None else self._left(cursor)

    def attempt(
        self, entry: Notify, *, early: bool = False, is_stopped: Callable[[], bool] = lambda: False
    ) -> DeliveryAttempt | None:
        """Try the next delivery, if it is time for it or `early`; None: nothing to be done now.

        To be called in `alone(entry)`. Who is killed after the receiver took the event and before
        that is written down leaves it to be delivered again, with the same id.
        """
        cursor = self._cursor(entry)
        record = self._next(entry, cursor)
        if record is None:
            self._note_walk(entry, cursor)
            return None
        if not early and self._left(cursor) > 0:
            return None
        messenger = self._messenger
        answer = messenger.sender.send(entry, messenger.message(record, entry), is_stopped)
        tried = cursor.tries + 1
        if answer.reception is Reception.BROKEN_OFF:
            return DeliveryAttempt(entry, record, Fate.BROKEN_OFF, tried, answer.reason)
        fate = Fate.DELIVERED
        if answer.reception is Reception.REFUSED:
            fate = Fate.GIVEN_UP if tried > entry.retries else Fate.FAILED
        self._write(entry, self._moved(cursor, record, fate, answer.reason))
        return DeliveryAttempt(entry, record, fate, tried, answer.reason)

    def _moved(self, cursor: Cursor, record: Record, fate: Fate, reason: str) -> Cursor:
        now = self._now()
        if fate is Fate.FAILED:
            pause = BACKOFF[min(cursor.tries, len(BACKOFF) - 1)]
            return cursor._replace(tries=cursor.tries + 1, due=now + pause, reason=reason)
        done = cursor._replace(seq=record.seq, tries=0, due=0.0, reason=reason)
        if fate is Fate.DELIVERED:
            return done._replace(delivered=now)
        draft = record.draft
        missed = GivenUp(draft.id, record.seq, draft.kind.value, reason, now)
        return done._replace(given_up=(*cursor.given_up, missed))

    def _next(self, entry: Notify, cursor: Cursor) -> Record | None:
        name = self._identity(entry)
        # The head is taken before reading: what comes in between is read next time.
        head = self._journal.head().seq
        after = max(cursor.seq, self._walked.get(name, 0))
        for record in self._journal.read(Query(events=entry.events, after=after)):
            # What was played again or belongs to a test did not happen now.
            if record.draft.provenance is Provenance.LIVE:
                return record
        self._walked[name] = head
        return None

    def _note_walk(self, entry: Notify, cursor: Cursor) -> None:
        walked = self._walked[self._identity(entry)]
        # A journal that ends before the cursor is another one: it begins at its end as well.
        if walked < cursor.seq or walked - cursor.seq >= _FAR:
            self._write(entry, cursor._replace(seq=walked))

    def _left(self, cursor: Cursor) -> float:
        # Never longer than a pause is: the clock may have been set back.
        return max(0.0, min(cursor.due - self._now(), BACKOFF[-1]))

    def _cursor(self, entry: Notify) -> Cursor:
        found = self._cursors.read(self._identity(entry))
        if found is None:  # somebody removed the file
            found = self._beginning(entry)
            self._cursors.enter(self._identity(entry), found)
        return found

    def _beginning(self, entry: Notify) -> Cursor:
        head = self._journal.head().seq
        return Cursor(seq=head, target=entry.target.shown, start=head)

    def _write(self, entry: Notify, cursor: Cursor) -> None:
        self._cursors.write(self._identity(entry), cursor)

    def _identity(self, entry: Notify) -> str:
        return identity(entry, self._place)


def deliver(
    deliveries: Deliveries,
    entries: Sequence[Notify],
    *,
    once: bool,
    sleep: Callable[[float], None],
) -> Iterator[DeliveryAttempt]:
    """Deliver what is outstanding; yield every try.

    With `once` nothing is tried a second time; otherwise all is delivered or given up at the end.
    """
    pending, early = list(entries), True
    while pending:
        for entry in pending:
            yield from _batch(deliveries, entry, early=early)
        waits = {entry: deliveries.wait(entry) for entry in pending}
        left = {entry: seconds for entry, seconds in waits.items() if seconds is not None}
        if once or not left:
            return
        pending, early = list(left), False
        sleep(max(_SHORTEST, min(left.values())))


def _batch(deliveries: Deliveries, entry: Notify, *, early: bool) -> Iterator[DeliveryAttempt]:
    with deliveries.alone(entry) as is_alone:
        while is_alone and (attempt := deliveries.attempt(entry, early=early)):
            yield attempt
            if attempt.fate is Fate.FAILED:  # what comes after it waits for it
                return


def troubles(cursors: Iterable[Cursor]) -> Iterator[str]:
    """Yield what is wrong with receivers that did not take an event since they last took one."""
    for cursor in cursors:
        missed = [each for each in cursor.given_up if each.at > cursor.delivered]
        if missed:
            count = f"{len(missed)} events" if len(missed) > 1 else "an event"
            yield f"`{cursor.target}` was not told of {count}: {missed[-1].reason}"
        elif cursor.tries:
            yield f"`{cursor.target}` did not take an event yet: {cursor.reason}"
