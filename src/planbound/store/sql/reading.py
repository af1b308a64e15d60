"""Reading the journal page by page.

No cursor stays open between two pages: whoever reads slowly holds nothing up, neither writers
nor the memory. Records are never changed, so the pages fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planbound.journal.record import GENESIS, Head, Record
from planbound.ports.journal import Query
from planbound.store.sql import query as sql
from planbound.store.sql.rows import Row, from_row

PAGE = 500

Ask = Callable[[sql.Statement], Sequence[Row]]
"""Gives the rows that answer a statement."""


class Reading:
    """A journal's database, asked in the words of the journal."""

    def __init__(self, dialect: sql.Dialect, ask: Ask) -> None:
        self._dialect = dialect
        self._ask = ask

    def head(self) -> Head:
        """Return the end of the chain."""
        rows = self._ask(sql.head(self._dialect))
        return Head(*rows[0]) if rows else GENESIS

    def records(self, query: Query) -> Iterator[Record]:
        """Yield the records asked for, in ascending order, up to the head of this moment."""
        reach = self._reach(query)
        while reach is not None and any(numbers.after < numbers.upto for numbers in reach):
            rows = self._ask(sql.page(self._dialect, query, reach, PAGE))
            for row in rows:
                yield from_row(row)
            if len(rows) < PAGE:
                return
            reach = reach.beyond(rows[-1][0])

    def _reach(self, query: Query) -> sql.Reach | None:
        head = self.head().seq
        if head <= query.after or (query.last is not None and query.last <= 0):
            return None
        indexed = min(head, self._indexed(head))
        by_index = sql.Range(query.after, indexed)
        if query.since is not None:
            first = self._number(sql.not_before(self._dialect, query.since))
            by_index = by_index.beyond(indexed if first is None else first - 1)
        if query.until is not None:
            last = self._number(sql.not_after(self._dialect, query.until))
            by_index = by_index._replace(upto=min(indexed, last or 0))
        reach = sql.Reach(by_index, sql.Range(max(query.after, indexed), head))
        if query.last is None:
            return reach
        if all(numbers.after >= numbers.upto for numbers in reach):
            return None
        first = self._number(sql.first_of_last(self._dialect, query, reach))
        return None if first is None else reach.beyond(first - 1)

    def _indexed(self, head: int) -> int:
        if self._dialect.lookup is None:
            return head
        statement = sql.Statement(f"SELECT max(seq) FROM {self._dialect.lookup}", ())  # noqa: S608 - our own name
        return self._number(statement) or 0

    def _number(self, statement: sql.Statement) -> int | None:
        rows = self._ask(statement)
        return rows[0][0] if rows else None
