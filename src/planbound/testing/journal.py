"""A journal in memory, which passes the same tests as the real ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from planbound.errors import JournalProblem, Stale
from planbound.journal.chain import link
from planbound.journal.event import EVENTS
from planbound.journal.record import GENESIS, Draft, Head, HeldLease, Query, Record, check_lease
from planbound.testing.leases import MemoryLeases


class MemoryJournal:
    """Keeps records as long as it lives; for any number of threads.

    `is_gone` says of a claim's `process` whether it is dead.
    """

    def __init__(self, *, is_gone: Callable[[str], bool] = lambda _: False) -> None:
        self._records: list[Record] = []
        self._by_id: dict[str, Record] = {}
        self._last: dict[str, int] = {}
        self._grown = threading.Condition()
        self._leases = MemoryLeases(self._grown, is_gone)

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expected: Head | None = None,
        held_lease: HeldLease | None = None,
    ) -> Sequence[Record]:
        """Append all or nothing."""
        with self._grown:
            if drafts and held_lease is not None:
                check_lease(held_lease, self._leases.lease_state(held_lease.plan))
            new: dict[str, Record] = {}
            last: dict[str, int] = {}
            head = self.head()
            for draft in drafts:
                if draft.id in self._by_id or draft.id in new:
                    continue
                if expected is not None and not new and head != expected:
                    raise Stale(
                        f"the journal went on meanwhile: its head is {head.seq}, "
                        f"expected {expected.seq}",
                        hint="read it again",
                    )
                _check(draft)
                plan_seq = last.get(draft.plan, self._last.get(draft.plan, 0)) + 1
                record = link(draft, head, plan_seq, EVENTS[draft.kind].VERSION)
                head = Head(record.seq, record.hash)
                new[draft.id] = record
                last[draft.plan] = plan_seq
            self._records.extend(new.values())
            self._by_id |= new
            self._last |= last
            self._grown.notify_all()
            return [self._by_id[draft.id] for draft in drafts]

    def head(self) -> Head:
        """Return the end of the chain."""
        with self._grown:
            if not self._records:
                return GENESIS
            return Head(self._records[-1].seq, self._records[-1].hash)

    def read(self, query: Query) -> Iterator[Record]:
        """Yield the records asked for, in ascending order."""
        end = self.head().seq
        if query.before is not None:
            end = min(end, max(0, query.before - 1))
        records = self._records[max(0, query.after) : end]
        if query.last is None:
            yield from (record for record in records if _matches(record, query))
            return
        found = (record for record in reversed(records) if _matches(record, query))
        yield from reversed(list(islice(found, max(0, query.last))))

    def wait(self, after: int, seconds: float) -> bool:
        """Return True as soon as there is a record beyond `after`, False when the time is up."""
        with self._grown:
            return self._grown.wait_for(lambda: self.head().seq > after, seconds)

    def leases(self) -> MemoryLeases:
        """Return the leases that are kept beside the events."""
        return self._leases

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


def _matches(record: Record, query: Query) -> bool:
    draft = record.draft
    return (
        (query.plan is None or draft.plan == query.plan)
        and (query.task is None or query.task in {draft.task_id, draft.details.number})
        and (not query.events or draft.kind in query.events)
        and (query.since is None or draft.timestamp >= query.since)
        and (query.until is None or draft.timestamp <= query.until)
    )


def _check(draft: Draft) -> None:
    for text in (draft.plan, draft.id, draft.task_id, draft.task_name):
        if text is not None and "\0" in text:
            raise JournalProblem(f"`{draft.kind.value}` holds a NUL character, expected text")
