"""The schema's history: one `.sql` file for each step, applied in the order of their numbers."""

import functools
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from planbound.errors import JournalProblem, Stale
from planbound.journal.chain import link
from planbound.journal.event import EVENTS, EventKind
from planbound.journal.record import (
    GENESIS,
    Details,
    Draft,
    Head,
    Provenance,
    Query,
    Record,
)

# -- the schema's history: one `.sql` file for each step, applied in the order of their numbers --


class Migration(NamedTuple):
    """One step from a schema to the next."""

    number: int
    name: str
    script: str


@functools.cache
def migrations(database: str) -> tuple[Migration, ...]:
    """Return the steps for `sqlite` or `postgres`, in order."""
    folder = os.path.join(os.path.dirname(__file__), "migrations", database)
    found = []
    for file in sorted(os.listdir(folder)):
        name, extension = os.path.splitext(file)
        if extension == ".sql":
            with open(os.path.join(folder, file), encoding="utf-8") as script:
                found.append(Migration(int(name[:4]), name, script.read()))
    return tuple(found)


def pending(
    applied: Collection[object], known: Sequence[Migration], *, where: str
) -> Sequence[Migration]:
    """Return the steps that are still to be applied; refuse a schema from the future."""
    unknown = set(applied) - {migration.number for migration in known}
    if unknown:
        raise JournalProblem(
            f"{where} was made by a newer version: this one knows schema {known[-1].number}, "
            f"not {', '.join(map(str, unknown))}",
            hint="use the newest version of planbound that works on this journal",
        )
    return [migration for migration in known if migration.number not in applied]


# -- where new events go: behind the head, each linked to the one before it ----------------------


class Tail(Protocol):
    """The end of a journal that nobody else appends to meanwhile: in SQLite, or in PostgreSQL."""

    def head(self) -> Head:
        """Return the end of the chain."""

    def find(self, identity: str) -> Record | None:
        """Return the record of an event that is there already."""

    def last_of_plan(self, plan: str) -> int:
        """Return the number of the plan's last record within the plan, 0 for a new plan."""


class PlacedRecords(Struct, frozen=True):
    """A record for each draft, and those of them that are new."""

    records: Sequence[Record]
    new: Sequence[Record]


def place(drafts: Sequence[Draft], expected: Head | None, tail: Tail) -> PlacedRecords:
    """Return the records of the drafts; raise Stale where the head is not the expected one."""
    known: dict[str, Record] = {}
    last: dict[str, int] = {}
    new: list[Record] = []
    head = tail.head()
    for draft in drafts:
        if draft.id in known:
            continue
        found = tail.find(draft.id)
        if found is None:
            if expected is not None and not new and head != expected:
                raise Stale(
                    f"the journal went on meanwhile: its head is {_shown(head)}, "
                    f"expected {_shown(expected)}",
                    hint="read it again",
                )
            if draft.plan not in last:
                last[draft.plan] = tail.last_of_plan(draft.plan)
            last[draft.plan] += 1
            found = link(draft, head, last[draft.plan], EVENTS[draft.kind].VERSION)
            head = Head(found.seq, found.hash)
            new.append(found)
        known[draft.id] = found
    return PlacedRecords([known[draft.id] for draft in drafts], new)


def _shown(head: Head) -> str:
    return f"{head.seq} (`{head.hash[:12]}`)"


# -- A record as a row, and back -----------------------------------------------------------------


COLUMNS = tuple(
    "seq plan plan_seq id timestamp event version task_id task_name task_number"
    " details provenance redactions prev hash".split()
)

Row = Sequence[Any]

_EVENTS = {kind.value: (kind, EVENTS[kind].VERSION) for kind in EventKind}
_PROVENANCES = {provenance.value: provenance for provenance in Provenance}


def to_row(record: Record) -> Row:
    """Return the values of a record in the order of `COLUMNS`."""
    draft = record.draft
    for text in (draft.plan, draft.id, draft.task_id, draft.task_name):
        if text is not None and "\0" in text:
            # PostgreSQL has no place for it. In details it is escaped.
            raise JournalProblem(f"`{draft.kind.value}` holds a NUL character, expected text")
    return (
        record.seq,
        draft.plan,
        record.plan_seq,
        draft.id,
        draft.timestamp,
        draft.kind.value,
        record.version,
        draft.task_id,
        draft.task_name,
        draft.details.number,
        draft.details.text,
        draft.provenance.value,
        draft.redactions,
        record.prev,
        record.hash,
    )


def from_row(row: Row) -> Record:
    """Return the record of a row; what no record can be is a `JournalProblem`."""
    # Written for speed: a million of these are made to verify a chain.
    seq, plan, plan_seq, id_, timestamp, event, version, task_id, task_name, *rest = row
    _, details, provenance, redactions, prev, digest = rest
    try:
        kind, newest = _EVENTS[event]
        source = _PROVENANCES[provenance]
        if version > newest or type(details) is not str:
            raise _unreadable(seq, f"a `{event}` of version {version}")
    except (KeyError, TypeError) as error:
        raise _unreadable(seq, f"`{event}`, {provenance}, version {version}") from error
    return Record(
        seq,
        plan_seq,
        Draft(id_, timestamp, kind, plan, task_id, task_name, Details(details), source, redactions),
        version,
        prev,
        digest,
    )


def _unreadable(seq: object, found: str) -> JournalProblem:
    return JournalProblem(
        f"record {seq} of the journal is {found}, which this version does not know",
        hint="if a newer version of planbound wrote this journal, read it with that one",
    )


# -- questions to the journal as SQL -------------------------------------------------------------


# ruff: noqa: S608 - names of tables and columns are our own; what users give is bound


class Dialect(Struct, frozen=True):
    """Where databases differ."""

    table: str
    placeholder: str
    lease: str
    is_led: bool
    """Whether the planner has to be led to the index of a question, by a `+` before the rest."""


class Statement(NamedTuple):
    """SQL and the values for its placeholders."""

    text: str
    values: tuple[object, ...]


class Range(NamedTuple):
    """Sequence numbers: beyond the first, up to the last."""

    after: int
    upto: int

    def beyond(self, seq: int) -> "Range":
        """Return what is left of it."""
        return Range(max(self.after, seq), self.upto)


class _Conditions(Struct, frozen=True):
    conditions: tuple[str, ...]
    """The first one is what an index is for."""
    values: tuple[object, ...]

    def and_also(self, *others: "_Conditions") -> "_Conditions":
        parts = (self, *others)
        return _Conditions(
            tuple(condition for part in parts for condition in part.conditions),
            tuple(value for part in parts for value in part.values),
        )


_ANYTHING = _Conditions((), ())
_OTHERS = ", ".join(COLUMNS[1:])


def head(dialect: Dialect) -> Statement:
    """Ask for the end of the chain."""
    return Statement(f"SELECT seq, hash FROM {dialect.table} ORDER BY seq DESC LIMIT 1", ())


def hashes(dialect: Dialect, upto: int) -> Statement:
    """Ask for the hashes of all records up to a number."""
    text = f"SELECT seq, hash FROM {dialect.table} WHERE seq <= ? ORDER BY seq"
    return _bound(dialect, text, (upto,))


def insert(dialect: Dialect) -> str:
    """Return what adds a row."""
    marks = ", ".join([dialect.placeholder] * len(COLUMNS))
    return f"INSERT INTO {dialect.table} (seq, {_OTHERS}) VALUES ({marks})"


def lease_state(dialect: Dialect, plan: str) -> Statement:
    """Ask how the lease of a plan stands."""
    text = f"SELECT number, held, holder FROM {dialect.lease} WHERE plan = ?"
    return _bound(dialect, text, (plan,))


def bounds(dialect: Dialect, query: Query) -> Statement:
    """Ask for the first and the last `seq` of the times that are asked for."""
    times = _times(query)
    # Clocks go back at times, so all of them are looked at. `+ 0` keeps a planner from walking
    # along `seq` instead until it finds one.
    text = f"SELECT min(seq + 0), max(seq + 0) FROM {dialect.table}"
    return _bound(dialect, f"{text} WHERE {' AND '.join(times.conditions)}", times.values)


def first_of_last(dialect: Dialect, query: Query, numbers: Range) -> Statement:
    """Ask for the `seq` of the first of the last so many records."""
    selects = _selects(dialect, query, numbers, "seq")
    text, values = _merged(dialect, list(selects), "DESC", query.last)
    return _bound(dialect, f"SELECT min(seq) FROM ({text}) AS found", values)


def page(dialect: Dialect, query: Query, numbers: Range, size: int) -> Statement:
    """Ask for the next records."""
    selects = _selects(dialect, query, numbers, f"seq, {_OTHERS}")
    return _bound(dialect, *_merged(dialect, list(selects), "ASC", size))


def _merged(dialect: Dialect, selects: list[Statement], order: str, size: int | None) -> Statement:
    if not dialect.is_led and len(selects) > 1:
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


def _selects(dialect: Dialect, query: Query, numbers: Range, columns: str) -> Iterator[Statement]:
    for part in _parts(query):
        conditions = _led(part, query) if dialect.is_led else part.and_also(_times(query))
        text = " AND ".join((*conditions.conditions, "seq > ?", "seq <= ?"))
        yield Statement(
            f"SELECT {columns} FROM {dialect.table} WHERE {text}", (*conditions.values, *numbers)
        )


def _led(part: _Conditions, query: Query) -> _Conditions:
    """Return the conditions, all but the first of which no index is used for."""
    first, rest = part.conditions[:1], (*part.conditions[1:], *_times(query).conditions)
    values = (*part.values, *_times(query).values)
    return _Conditions((*first, *(f"+{condition}" for condition in rest)), values)


def _parts(query: Query) -> list[_Conditions]:
    """Return disjoint parts, each with its index."""
    plan, events = _plan(query), _events(query)
    if query.task is not None:
        numbered = ("task_number = ?", "(task_id IS NULL OR task_id <> ?)")
        return [
            _Conditions(("task_id = ?",), (query.task,)).and_also(plan, events),
            _Conditions(numbered, (query.task, query.task)).and_also(plan, events),
        ]
    if query.plan is not None:
        return [plan.and_also(events)]
    names = dict.fromkeys(event.value for event in query.events)
    return [_Conditions(("event = ?",), (name,)) for name in names] or [_ANYTHING]


def _plan(query: Query) -> _Conditions:
    return _ANYTHING if query.plan is None else _Conditions(("plan = ?",), (query.plan,))


def _events(query: Query) -> _Conditions:
    if not query.events:
        return _ANYTHING
    marks = ", ".join("?" * len(query.events))
    return _Conditions((f"event IN ({marks})",), tuple(event.value for event in query.events))


def _times(query: Query) -> _Conditions:
    since = _Conditions(("timestamp >= ?",), (query.since,)) if query.since else _ANYTHING
    until = _Conditions(("timestamp <= ?",), (query.until,)) if query.until else _ANYTHING
    return since.and_also(until)


def _bound(dialect: Dialect, text: str, values: tuple[object, ...]) -> Statement:
    return Statement(text.replace("?", dialect.placeholder), values)


# -- reading the journal page by page ------------------------------------------------------------


PAGE = 500

Ask = Callable[[Statement], Sequence[Row]]
"""Gives the rows that answer a statement."""


class Reading:
    """A journal's database, asked in the words of the journal."""

    def __init__(self, dialect: Dialect, ask: Ask) -> None:
        self._dialect = dialect
        self._ask = ask

    def head(self) -> Head:
        """Return the end of the chain."""
        rows = self._ask(head(self._dialect))
        return Head(*rows[0]) if rows else GENESIS

    def hashes(self, upto: int) -> list[bytes]:
        """Return the hashes of the records up to a number, in one reading; refuse where one lacks.

        That is what a checkpoint of the journal is reckoned from.
        """
        rows = self._ask(hashes(self._dialect, upto))
        if len(rows) != upto or (rows and rows[-1][0] != upto):
            raise JournalProblem(
                f"the journal has {len(rows)} records up to number {upto}",
                hint="`planbound log --verify` says what is missing",
            )
        try:
            return [bytes.fromhex(row[1]) for row in rows]
        except ValueError as error:
            raise JournalProblem("the hash of a record is none") from error

    def records(self, query: Query) -> Iterator[Record]:
        """Yield the records asked for, in ascending order, up to the head of this moment."""
        numbers = self._range(query)
        while numbers is not None and numbers.after < numbers.upto:
            rows = self._ask(page(self._dialect, query, numbers, PAGE))
            for row in rows:
                yield from_row(row)
            if len(rows) < PAGE:
                return
            numbers = numbers.beyond(rows[-1][0])

    def _range(self, query: Query) -> Range | None:
        head = self.head().seq
        if query.before is not None:
            head = min(head, query.before - 1)
        if head <= query.after or (query.last is not None and query.last <= 0):
            return None
        numbers = Range(query.after, head)
        # Of the last ones only the end is looked at, whenever the first one was.
        if query.until is not None or (query.since is not None and query.last is None):
            ((first, last),) = self._ask(bounds(self._dialect, query))
            numbers = Range(max(query.after, (first or 1) - 1), min(head, last or 0))
        if query.last is None:
            return numbers
        if numbers.after >= numbers.upto:
            return None
        first = self._number(first_of_last(self._dialect, query, numbers))
        return None if first is None else numbers.beyond(first - 1)

    def _number(self, statement: Statement) -> int | None:
        rows = self._ask(statement)
        return rows[0][0] if rows else None
