"""Questions to the journal as SQL.

Records are asked for page by page, always in the order of `seq`, by the one index that fits the
question best. Where several values are asked for, each has its part of the statement and the
database merges the parts: sorting all that matches, page after page, would take the square of
the time.
"""

# ruff: noqa: S608 - names of tables and columns are our own; what users give is bound
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planbound.ports.journal import Query
from planbound.store.sql.rows import COLUMNS


class Dialect(NamedTuple):
    """Where databases differ."""

    table: str
    lookup: str | None
    """A table of its own for finding records, if the indexes are not on the journal itself."""
    placeholder: str
    lease: str


class Statement(NamedTuple):
    """SQL and the values for its placeholders."""

    text: str
    values: tuple[object, ...]


class Range(NamedTuple):
    """Sequence numbers: beyond the first, up to the last."""

    after: int
    upto: int

    def beyond(self, seq: int) -> Range:
        """Return what is left of it."""
        return Range(max(self.after, seq), self.upto)


class Reach(NamedTuple):
    """Where to look: by an index, and then one by one."""

    indexed: Range
    tail: Range

    def beyond(self, seq: int) -> Reach:
        """Return what is left of it."""
        return Reach(self.indexed.beyond(seq), self.tail.beyond(seq))


class _Part(NamedTuple):
    by: str | None
    conditions: tuple[str, ...]
    values: tuple[object, ...]

    def and_also(self, *others: _Part) -> _Part:
        parts = (self, *others)
        return _Part(
            self.by,
            tuple(condition for part in parts for condition in part.conditions),
            tuple(value for part in parts for value in part.values),
        )


_ANYTHING = _Part(None, (), ())
_OTHERS = ", ".join(COLUMNS[1:])


def head(dialect: Dialect) -> Statement:
    """Ask for the end of the chain."""
    return Statement(f"SELECT seq, hash FROM {dialect.table} ORDER BY seq DESC LIMIT 1", ())


def insert(dialect: Dialect) -> str:
    """Return what adds a row."""
    marks = ", ".join([dialect.placeholder] * len(COLUMNS))
    return f"INSERT INTO {dialect.table} (seq, {_OTHERS}) VALUES ({marks})"


def insert_fenced(dialect: Dialect) -> str:
    """Return what adds a row while a lease is held with this number: plan and number come last."""
    marks = ", ".join([dialect.placeholder] * len(COLUMNS))
    held = f"SELECT 1 FROM {dialect.lease} WHERE plan = ? AND number = ? AND held"
    return f"INSERT INTO {dialect.table} (seq, {_OTHERS}) SELECT {marks} WHERE EXISTS ({held})"


def standing(dialect: Dialect, plan: str) -> Statement:
    """Ask how the lease of a plan stands."""
    text = f"SELECT number, held, holder FROM {dialect.lease} WHERE plan = ?"
    return _bound(dialect, text, (plan,))


def not_before(dialect: Dialect, since: str) -> Statement:
    """Ask for the first `seq` that an index knows of this time or a later one."""
    table = dialect.lookup or dialect.table
    text = f"SELECT seq FROM {table} WHERE latest >= ? ORDER BY latest, seq LIMIT 1"
    return _bound(dialect, text, (since,))


def not_after(dialect: Dialect, until: str) -> Statement:
    """Ask for the last `seq` that an index knows of this time or an earlier one."""
    table = dialect.lookup or dialect.table
    # `+ 0` and the name of the index keep the planner from walking back along `seq` until it
    # finds a record that was late: there may be none.
    late = f"{table} INDEXED BY lookup_late" if dialect.lookup else table
    text = (
        "SELECT max(seq) FROM ("
        f"SELECT seq FROM (SELECT seq FROM {table} WHERE latest <= ?"
        " ORDER BY latest DESC, seq DESC LIMIT 1) AS in_time"
        f" UNION ALL SELECT max(seq + 0) FROM {late} WHERE timestamp < latest AND timestamp <= ?"
        ") AS found"
    )
    return _bound(dialect, text, (until, until))


def first_of_last(dialect: Dialect, query: Query, reach: Reach) -> Statement:
    """Ask for the `seq` of the first of the last so many records."""
    selects = _selects(dialect, query, reach, whole=False)
    text, values = _merged(dialect, list(selects), "DESC", query.last)
    return _bound(dialect, f"SELECT min(seq) FROM ({text}) AS found", values)


def page(dialect: Dialect, query: Query, reach: Reach, size: int) -> Statement:
    """Ask for the next records."""
    selects = _selects(dialect, query, reach, whole=True)
    return _bound(dialect, *_merged(dialect, list(selects), "ASC", size))


def _merged(dialect: Dialect, selects: list[Statement], order: str, size: int | None) -> Statement:
    if dialect.lookup is None and len(selects) > 1:
        # PostgreSQL sorts all that the parts find, unless each of them has an end of its own.
        selects = [
            Statement(
                f"SELECT * FROM ({part.text} ORDER BY seq {order} LIMIT ?) AS part_{number}",
                (*part.values, size),
            )
            for number, part in enumerate(selects)
        ]
    text = " UNION ALL ".join(part.text for part in selects)
    values = tuple(value for part in selects for value in part.values)
    return Statement(f"{text} ORDER BY 1 {order} LIMIT ?", (*values, size))


def _selects(dialect: Dialect, query: Query, reach: Reach, *, whole: bool) -> Iterator[Statement]:
    columns = f"seq, {_OTHERS}" if whole else "seq"
    times = _times(query)
    if reach.indexed.after < reach.indexed.upto:
        for part in _parts(query):
            text, values = _where(part.and_also(times), reach.indexed)
            if part.by is None or dialect.lookup is None:
                text = f"SELECT {columns} FROM {dialect.table} {text}"
            else:
                text = f"SELECT seq FROM {dialect.lookup} INDEXED BY lookup_{part.by} {text}"
                if whole:
                    found = text.replace("SELECT seq", "SELECT seq AS found", 1)
                    text = (
                        f"SELECT found AS seq, {_OTHERS}"
                        f" FROM ({found}) CROSS JOIN {dialect.table} ON seq = found"
                    )
            yield Statement(text, values)
    if reach.tail.after < reach.tail.upto:
        everything = _ANYTHING.and_also(_plan(query), _task(query), _events(query), times)
        text, values = _where(everything, reach.tail)
        yield Statement(f"SELECT {columns} FROM {dialect.table} {text}", values)


def _where(part: _Part, numbers: Range) -> Statement:
    conditions = (*part.conditions, "seq > ?", "seq <= ?")
    return Statement(f"WHERE {' AND '.join(conditions)}", (*part.values, *numbers))


def _parts(query: Query) -> list[_Part]:
    """Return disjoint parts, each with its index."""
    plan, events = _plan(query), _events(query)
    if query.task is not None:
        numbered = ("task_number = ?", "(task_id IS NULL OR task_id <> ?)")
        return [
            _Part("task_id", ("task_id = ?",), (query.task,)).and_also(plan, events),
            _Part("task_number", numbered, (query.task, query.task)).and_also(plan, events),
        ]
    if query.plan is not None:
        return [plan.and_also(events)]
    names = dict.fromkeys(event.value for event in query.events)
    return [_Part("event", ("event = ?",), (name,)) for name in names] or [_ANYTHING]


def _plan(query: Query) -> _Part:
    return _ANYTHING if query.plan is None else _Part("plan", ("plan = ?",), (query.plan,))


def _task(query: Query) -> _Part:
    if query.task is None:
        return _ANYTHING
    return _Part(None, ("(task_id = ? OR task_number = ?)",), (query.task, query.task))


def _events(query: Query) -> _Part:
    if not query.events:
        return _ANYTHING
    marks = ", ".join("?" * len(query.events))
    return _Part(None, (f"event IN ({marks})",), tuple(event.value for event in query.events))


def _times(query: Query) -> _Part:
    since = _Part(None, ("timestamp >= ?",), (query.since,)) if query.since else _ANYTHING
    until = _Part(None, ("timestamp <= ?",), (query.until,)) if query.until else _ANYTHING
    return since.and_also(until)


def _bound(dialect: Dialect, text: str, values: tuple[object, ...]) -> Statement:
    return Statement(text.replace("?", dialect.placeholder), values)
