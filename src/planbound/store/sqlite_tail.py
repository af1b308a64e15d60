"""The end of an SQLite journal as who appends sees it.

The last records are in no index yet (see `sql/sqlite/0001_journal.sql`). Their ids are kept in
memory: as long as nobody else appends, they need not be read again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from planbound.engine.fence import Fence, Standing
from planbound.journal.chain import link
from planbound.journal.event import EVENTS
from planbound.journal.record import GENESIS, Draft, Head, Record
from planbound.store.sql.query import Dialect, head, insert, insert_fenced, standing
from planbound.store.sql.rows import COLUMNS, from_row, to_row

DIALECT = Dialect("journal", "lookup", "?", "lease")

LONGEST = 512
"""How many records may be in no index."""

INDEX = """
    INSERT INTO lookup (seq, id, plan, event, timestamp, latest, task_id, task_number)
    SELECT
        seq, id, plan, event, timestamp,
        max(
            coalesce((SELECT latest FROM lookup ORDER BY seq DESC LIMIT 1), ''),
            max(timestamp) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
        ),
        task_id, task_number
    FROM journal
    WHERE seq > (SELECT coalesce(max(seq), 0) FROM lookup)
"""
"""Brings what is in no index into it."""

_HEAD = head(DIALECT).text
_INSERT = insert(DIALECT)
_INSERT_FENCED = insert_fenced(DIALECT)
_RECORD = f"SELECT {', '.join(COLUMNS)} FROM journal WHERE seq = ?"  # noqa: S608 - our own names


class SqliteTail:
    """Where the next records go; but for `append` used in a transaction that may write."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._seen: Head | None = None
        """Up to where the rest is known; None where nothing is."""
        self._indexed = 0
        self._ids: dict[str, int] = {}
        """The sequence numbers of at least all records that are in no index."""
        self._plans: dict[str, int] = {}
        """The number of the last record within its plan, for some plans."""

    def head(self) -> Head:
        """Return the end of the chain."""
        row = self.connection.execute(_HEAD).fetchone()
        found = GENESIS if row is None else Head(*row)
        if found != self._seen:
            self._look(found)
        return found

    def find(self, identity: str) -> Record | None:
        """Return the record of an event that is there already."""
        seq = self._ids.get(identity)
        if seq is None and self._indexed:
            seq = self._number_of(identity)
        if seq is None:
            return None
        return from_row(self.connection.execute(_RECORD, (seq,)).fetchone())

    def last_of_plan(self, plan: str) -> int:
        """Return the number of the plan's last record within the plan, 0 for a new plan."""
        if plan not in self._plans:
            text = (
                "SELECT plan_seq FROM journal"
                " WHERE seq = (SELECT max(seq) FROM lookup WHERE plan = ?)"
            )
            self._plans[plan] = self._value(text, plan) or 0
        return self._plans[plan]

    def standing(self, plan: str) -> Standing | None:
        """Return how the lease of a plan stands; None where there never was one."""
        row = self.connection.execute(*standing(DIALECT, plan)).fetchone()
        return None if row is None else Standing(*row)

    def append(self, draft: Draft, expected: Head | None, fence: Fence | None) -> Record | None:
        """Append one event by one statement, outside of a transaction.

        It goes behind the head that was seen last. If that is not the head any more, a trigger
        refuses it; if the lease is not held any more, nothing is appended. Then, and where this
        way is not open, None is returned.
        """
        seen, self._seen = self._seen, None
        if seen is None or seen.seq - self._indexed >= LONGEST:
            return None
        if expected is not None and expected != seen:
            return None
        if draft.id in self._ids or (self._indexed and self._number_of(draft.id) is not None):
            return None
        plan_seq = self.last_of_plan(draft.plan) + 1
        record = link(draft, seen, plan_seq, EVENTS[draft.event].version)
        try:
            if fence is None:
                self.connection.execute(_INSERT, to_row(record))
            elif not self.connection.execute(_INSERT_FENCED, (*to_row(record), *fence)).rowcount:
                return None
        except sqlite3.IntegrityError:
            return None
        self._ids[draft.id] = record.seq
        self._plans[draft.plan] = plan_seq
        self._seen = Head(record.seq, record.hash)
        return record

    def write(self, records: Sequence[Record]) -> None:
        """Add new records and commit."""
        self._seen = None
        for record in records:
            self.connection.execute(_INSERT, to_row(record))
        last = records[-1]
        long = last.seq - self._indexed > LONGEST
        if long:
            self.connection.execute(INDEX)
        self.connection.execute("COMMIT")
        for record in records:
            self._ids[record.draft.id] = record.seq
            self._plans[record.draft.plan] = record.plan_seq
        if long:
            self._forget(last.seq)
        self._seen = Head(last.seq, last.hash)

    def _look(self, found: Head) -> None:
        seen, self._seen = self._seen, None
        if seen is None or seen.hash != self._hash_at(seen.seq):
            self._forget(self._value("SELECT max(seq) FROM lookup") or 0)
            start = self._indexed
        else:
            start = seen.seq
        rows = self.connection.execute(
            "SELECT seq, id, plan, plan_seq FROM journal WHERE seq > ? ORDER BY seq", (start,)
        )
        for seq, identity, plan, plan_seq in rows:
            self._ids[identity] = seq
            self._plans[plan] = plan_seq
        self._seen = found

    def _forget(self, indexed: int) -> None:
        self._indexed = indexed
        self._ids.clear()
        self._plans.clear()

    def _number_of(self, identity: str) -> int | None:
        number: int | None = self._value("SELECT seq FROM lookup WHERE id = ?", identity)
        return number

    def _hash_at(self, seq: int) -> object:
        return self._value("SELECT hash FROM journal WHERE seq = ?", seq)

    def _value(self, text: str, *values: object) -> Any:
        row = self.connection.execute(text, values).fetchone()
        return None if row is None else row[0]
