"""Tell receivers what happened: in order, at least once, and never for ever."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from planbound.engine.notify import Notify, identity
from planbound.journal.codec import encode
from planbound.journal.record import Provenance, Record
from planbound.journal.redact import Redactor
from planbound.ports.journal import Journal, Query
from planbound.ports.notify import Cursor, Cursors, GivenUp, Message, Reception, Sender

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


class Attempt(NamedTuple):
    """One try to tell one receiver of one event."""

    entry: Notify
    record: Record
    fate: Fate
    tries: int
    reason: str


class Postman(NamedTuple):
    """What writes and sends messages."""

    sender: Sender
    redactor: Redactor
    project: str

    def message(self, record: Record) -> Message:
        """Return the event as `planbound log --json` prints it, with the project.

        The journal holds no secrets that were known when it was written; this takes out those
        that are known by now.
        """
        draft = record.draft
        found = self.redactor.redact_details(draft.event, draft.details)
        title, in_title = self.redactor.redact(draft.task_name or "")
        if found.redactions or in_title:
            draft = draft._replace(
                details=found.details,
                task_name=title if draft.task_name is not None else None,
                redactions=draft.redactions + found.redactions + in_title,
            )
            record = record._replace(draft=draft)
        text = f'{encode(record)[:-1]},"project":{json.dumps(self.project)}}}'
        return Message(
            id=draft.id,
            event=draft.event.value,
            plan=draft.plan,
            task=draft.task_id or "",
            body=text.encode("ascii"),
        )


class Deliveries:
    """What is to be delivered from one journal; entries may be worked on by a thread each.

    `place` is what tells this journal from others whose cursors are kept with its own.
    """

    def __init__(
        self,
        journal: Journal,
        cursors: Cursors,
        postman: Postman,
        *,
        now: Callable[[], float],
        place: str,
    ) -> None:
        self._journal = journal
        self._cursors = cursors
        self._postman = postman
        self._now = now
        self._place = place
        self._walked: dict[str, int] = {}

    def enter(self, entries: Iterable[Notify]) -> Sequence[Notify]:
        """Let entries that were never seen begin with what happens next; return these."""
        new = []
        for entry in entries:
            start = Cursor(seq=self._journal.head().seq, target=entry.target.shown)
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
        self, entry: Notify, *, early: bool = False, hurry: Callable[[], bool] = lambda: False
    ) -> Attempt | None:
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
        postman = self._postman
        answer = postman.sender.send(entry, postman.message(record), hurry)
        tried = cursor.tries + 1
        if answer.reception is Reception.BROKEN_OFF:
            return Attempt(entry, record, Fate.BROKEN_OFF, tried, answer.reason)
        fate = Fate.DELIVERED
        if answer.reception is Reception.REFUSED:
            fate = Fate.GIVEN_UP if tried > entry.retries else Fate.FAILED
        self._write(entry, self._moved(cursor, record, fate, answer.reason))
        return Attempt(entry, record, fate, tried, answer.reason)

    def _moved(self, cursor: Cursor, record: Record, fate: Fate, reason: str) -> Cursor:
        now = self._now()
        if fate is Fate.FAILED:
            pause = BACKOFF[min(cursor.tries, len(BACKOFF) - 1)]
            return cursor._replace(tries=cursor.tries + 1, due=now + pause, reason=reason)
        done = cursor._replace(seq=record.seq, tries=0, due=0.0, reason=reason)
        if fate is Fate.DELIVERED:
            return done._replace(delivered=now)
        draft = record.draft
        missed = GivenUp(draft.id, record.seq, draft.event.value, reason, now)
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
            found = Cursor(seq=self._journal.head().seq, target=entry.target.shown)
            self._cursors.enter(self._identity(entry), found)
        return found

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
) -> Iterator[Attempt]:
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


def _batch(deliveries: Deliveries, entry: Notify, *, early: bool) -> Iterator[Attempt]:
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
