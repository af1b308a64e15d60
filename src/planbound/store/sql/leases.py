"""Leases in the database of a journal: one row for each plan that was ever run.

A row is never removed: it remembers the number.
"""

# ruff: noqa: S608 - names of tables and columns are our own; what users give is bound
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from planbound.engine.claims import Claim, Held, admit
from planbound.engine.fence import Fence, Standing, check_fence
from planbound.store.lock import is_gone
from planbound.store.sql.query import Dialect, Statement, standing
from planbound.store.sql.reading import Ask
from planbound.store.sql.rows import Row

_COLUMNS = ("worktree", "touches", "holder", "process", "boot", "expires")


class Moment(NamedTuple):
    """A time that all who use the database see alike."""

    boot: str
    """The start of the machine since which seconds are counted; empty for a clock of the day."""
    seconds: float


class SqlLeases:
    """The leases of one journal; `write` gives a transaction in which nobody else writes."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        write: Callable[[], AbstractContextManager[Ask]],
        read: Ask,
        moment: Callable[[Ask], Moment],
    ) -> None:
        self._dialect = dialect
        self._write = write
        self._read = read
        self._moment = moment

    def acquire(self, claim: Claim, *, seconds: float) -> Fence:
        """Take the lease of a plan; raise Refused where another is in the way."""
        with self._write() as ask:
            now = self._moment(ask)
            for ended in admit(claim, self._held(ask, now)):
                self._end(ask, ended, claim.holder)
            return self._take(ask, claim, now._replace(seconds=now.seconds + seconds))

    def renew(self, fence: Fence, *, seconds: float) -> None:
        """Start the time anew; raise LeaseLost where somebody took the lease over."""
        with self._write() as ask:
            check_fence(fence, self._standing(ask, fence.plan))
            now = self._moment(ask)
            self._change(ask, fence.plan, boot=now.boot, expires=now.seconds + seconds)

    def release(self, fence: Fence) -> None:
        """Give a lease back; somebody else's stays as it is."""
        with self._write() as ask:
            found = self._standing(ask, fence.plan)
            if found is not None and found.number == fence.number:
                self._change(ask, fence.plan, held=False)

    def revoke(self, plan: str, *, by: str) -> Held | None:
        """End the lease of a plan, whoever holds it; return it as it was."""
        with self._write() as ask:
            every = self._held(ask, self._moment(ask))
            found = next((held for held in every if held.claim.plan == plan), None)
            if found is not None:
                self._end(ask, found, by)
            return found

    def held(self) -> Sequence[Held]:
        """Return all leases that were not given back, in the order of their plans."""
        return self._held(self._read, self._moment(self._read))

    def _held(self, ask: Ask, now: Moment) -> Sequence[Held]:
        text = f"SELECT plan, number, {', '.join(_COLUMNS)} FROM {self._dialect.lease}"
        rows = ask(Statement(f"{text} WHERE held ORDER BY plan", ()))
        return [_from_row(row, now) for row in rows]

    def _end(self, ask: Ask, lease: Held, winner: str) -> None:
        lost = {"number": lease.number + 1, "held": False, "holder": winner}
        self._change(ask, lease.claim.plan, **lost)

    def _standing(self, ask: Ask, plan: str) -> Standing | None:
        rows = ask(standing(self._dialect, plan))
        return Standing(*rows[0]) if rows else None

    def _take(self, ask: Ask, claim: Claim, until: Moment) -> Fence:
        last = self._standing(ask, claim.plan)
        number = 1 if last is None else last.number + 1
        values: dict[str, object] = {
            "number": number,
            "held": True,
            "worktree": claim.worktree,
            "touches": None if claim.touches is None else json.dumps(claim.touches),
            "holder": claim.holder,
            "process": claim.process,
            "boot": until.boot,
            "expires": until.seconds,
        }
        if last is None:
            marks = ", ".join("?" * (len(values) + 1))
            text = f"INSERT INTO {self._dialect.lease} (plan, {', '.join(values)}) VALUES ({marks})"
            self._do(ask, text, claim.plan, *values.values())
        else:
            self._change(ask, claim.plan, **values)
        return Fence(claim.plan, number)

    def _change(self, ask: Ask, plan: str, **values: object) -> None:
        changes = ", ".join(f"{column} = ?" for column in values)
        text = f"UPDATE {self._dialect.lease} SET {changes} WHERE plan = ?"
        self._do(ask, text, *values.values(), plan)

    def _do(self, ask: Ask, text: str, *values: object) -> None:
        ask(Statement(text.replace("?", self._dialect.placeholder), values))


def _from_row(row: Row, now: Moment) -> Held:
    plan, number, worktree, touches, holder, process, boot, expires = row
    claim = Claim(
        plan=plan,
        worktree=worktree,
        touches=None if touches is None else tuple(json.loads(touches)),
        holder=holder,
        process=process,
    )
    # Seconds since another start of the machine say nothing, but that its processes are gone.
    left = max(0.0, expires - now.seconds) if boot == now.boot else 0.0
    gone = process is not None and is_gone(process)
    return Held(claim, number, left, expired=gone or not left)
