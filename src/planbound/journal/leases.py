"""Leases in the database of a journal: one row for each plan that was ever run.

A row is never removed: it remembers the number.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, Protocol

from msgspec import Struct

from planbound.disk.lock import is_gone, this_process
from planbound.errors import Claimed, LeaseLost, PlanboundError, Refused
from planbound.journal.record import HeldLease, LeaseState, check_lease
from planbound.journal.sql import Ask, Dialect, Row, Statement, lease_state

# -- which plans may run at the same time: one runner for each, and no two change the same files -


_HINT = "wait for it, or end it: the lease of a process goes with the process"


class Claim(NamedTuple):
    """What somebody asks for who wants to run a plan."""

    plan: str
    worktree: str
    """Where files are changed, in the same words by all who change them there."""
    touches: tuple[str, ...] | None
    """All that the plan may change; None: not declared."""
    holder: str
    """Who it is, for people, such as "process 12 on `box`"."""
    process: str | None = None
    """By what others on the same machine see whether the holder is dead; None: unknown."""


class Held(Struct, frozen=True):
    """A lease that was acquired, and neither released nor taken over."""

    claim: Claim
    number: int
    expires_in: float
    """How many seconds are left; 0 where none are."""
    expired: bool
    """Whether anybody may take it over: its time is up, or its holder is dead."""


def admit(claim: Claim, leases: Iterable[Held]) -> tuple[Held, ...]:
    """Return the expired leases of other plans that end when this claim is granted.

    Raise Refused where the plan's own lease has not expired, and Claimed where that of another
    plan in the way has not. An expired one in the way ends: otherwise its holder, if it only was
    slow, would go on beside the new one.
    """
    ended = []
    # What is refused at once comes first: the plan's own holder, then those in the same worktree.
    for held in sorted(leases, key=lambda each: _distance(claim, each.claim)):
        other = held.claim
        if other.plan == claim.plan:
            if not held.expired:
                raise Refused(f"`{claim.plan}` is run by {other.holder} already", hint=_HINT)
            continue
        reason = collision(claim, other)
        if reason is None:
            continue
        if not held.expired:
            raise Claimed(reason, plan=other.plan, worktree=other.worktree, hint=_HINT)
        ended.append(held)
    return tuple(ended)


def _distance(claim: Claim, other: Claim) -> tuple[bool, bool]:
    return other.plan != claim.plan, other.worktree != claim.worktree


def collision(claim: Claim, other: Claim) -> str | None:
    """Say why two plans cannot run at the same time; None where they can.

    In different worktrees nothing is broken by what nobody declared: the merge judges that.
    """
    unknown, met = _overlap(claim, other)
    if claim.worktree == other.worktree:
        reason = unknown or met
        where = f"`{claim.plan}` cannot run beside `{other.plan}`, which {other.holder} runs in"
        return None if reason is None else f"{where} the same worktree: {reason}"
    if met is None:
        return None
    runs = f"which {other.holder} runs in {other.worktree}"
    return f"`{claim.plan}` waits for `{other.plan}`, {runs}: {met}"


def _overlap(claim: Claim, other: Claim) -> tuple[str | None, str | None]:
    """Return why nobody can tell what both would change, and else how that meets."""
    # Seldom is anybody in the way, and patterns take their time to load.
    from planbound.plan.glob import (  # noqa: PLC0415 - start-up
        GlobError,
        meeting_pairs,
        parse_glob,
    )

    groups = []
    for each in (claim, other):
        if each.touches is None:
            return f"`{each.plan}` has no `touches`, so nobody can tell whether it is safe", None
        try:
            groups.append([parse_glob(text) for text in each.touches])
        except GlobError as error:
            return f"`touches` of `{each.plan}` cannot be read: {error}", None
    met = next(meeting_pairs(groups, lambda _first, _second: True), None)
    return None, None if met is None else f"`{met[2].text}` meets `{met[3].text}`"


# -- leases in the database of a journal: one row for each plan that was ever run ----------------


# ruff: noqa: S608 - names of tables and columns are our own; what users give is bound


_COLUMNS = ("worktree", "touches", "holder", "process", "boot", "expires")


class DatabaseTime(NamedTuple):
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
        moment: Callable[[Ask], DatabaseTime],
    ) -> None:
        self._dialect = dialect
        self._write = write
        self._read = read
        self._moment = moment

    def acquire(self, claim: Claim, *, seconds: float) -> HeldLease:
        """Take the lease of a plan; raise Refused where another is in the way."""
        with self._write() as ask:
            now = self._moment(ask)
            for ended in admit(claim, self._held(ask, now)):
                self._end(ask, ended, claim.holder)
            return self._take(ask, claim, now._replace(seconds=now.seconds + seconds))

    def renew(self, held_lease: HeldLease, *, seconds: float) -> None:
        """Start the time anew; raise LeaseLost where somebody took the lease over."""
        with self._write() as ask:
            check_lease(held_lease, self._lease_state(ask, held_lease.plan))
            now = self._moment(ask)
            self._change(ask, held_lease.plan, boot=now.boot, expires=now.seconds + seconds)

    def release(self, held_lease: HeldLease) -> None:
        """Give a lease back; somebody else's stays as it is."""
        with self._write() as ask:
            found = self._lease_state(ask, held_lease.plan)
            if found is not None and found.number == held_lease.number:
                self._change(ask, held_lease.plan, held=False)

    def revoke(self, plan: str, *, by: str) -> Held | None:
        """End the lease of a plan, whoever holds it; return it as it was."""
        with self._write() as ask:
            every = self._held(ask, self._moment(ask))
            found = next((held for held in every if held.claim.plan == plan), None)
            if found is not None:
                self._end(ask, found, by)
            return found

    def held(self, *, beside: str | None = None) -> Sequence[Held]:
        """Return all leases that were not given back, in the order of their plans."""
        rows = self._rows(self._read, beside)
        # What time it is, and who is still alive, is asked only where there is somebody.
        now = self._moment(self._read) if rows else None
        return [] if now is None else [_from_row(row, now) for row in rows]

    def _held(self, ask: Ask, now: DatabaseTime) -> Sequence[Held]:
        return [_from_row(row, now) for row in self._rows(ask, None)]

    def _rows(self, ask: Ask, beside: str | None) -> Sequence[Row]:
        text = f"SELECT plan, number, {', '.join(_COLUMNS)} FROM {self._dialect.lease} WHERE held"
        if beside is None:
            return ask(Statement(f"{text} ORDER BY plan", ()))
        other = f"{text} AND plan <> {self._dialect.placeholder} ORDER BY plan"
        return ask(Statement(other, (beside,)))

    def _end(self, ask: Ask, lease: Held, winner: str) -> None:
        lost = {"number": lease.number + 1, "held": False, "holder": winner}
        self._change(ask, lease.claim.plan, **lost)

    def _lease_state(self, ask: Ask, plan: str) -> LeaseState | None:
        rows = ask(lease_state(self._dialect, plan))
        return LeaseState(*rows[0]) if rows else None

    def _take(self, ask: Ask, claim: Claim, until: DatabaseTime) -> HeldLease:
        last = self._lease_state(ask, claim.plan)
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
        return HeldLease(claim.plan, number)

    def _change(self, ask: Ask, plan: str, **values: object) -> None:
        changes = ", ".join(f"{column} = ?" for column in values)
        text = f"UPDATE {self._dialect.lease} SET {changes} WHERE plan = ?"
        self._do(ask, text, *values.values(), plan)

    def _do(self, ask: Ask, text: str, *values: object) -> None:
        ask(Statement(text.replace("?", self._dialect.placeholder), values))


def _from_row(row: Row, now: DatabaseTime) -> Held:
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


# -- holding one: taken, kept and given back in one place ----------------------------------------


_PAUSE = 0.1
_SHORT = 30.0
"""How long a decision may take; a process that dies is known to be dead at once."""


def my_claim(plan: str, worktree: str, touches: tuple[str, ...] | None = None) -> Claim:
    """Return the claim of this process."""
    me = this_process()
    return Claim(plan, worktree=worktree, touches=touches, holder=me.name, process=me.mark)


@contextmanager
def hold_lease(
    leases: "Leases",
    claim: Claim,
    *,
    seconds: float = _SHORT,
    waits: Callable[[Refused], bool] = lambda _refused: False,
) -> Iterator[HeldLease]:
    """Hold the lease of a plan; raise Refused, with a name, where somebody else is in the way.

    `waits` says whether to try again in a moment.
    """
    held_lease = None
    while held_lease is None:
        try:
            held_lease = leases.acquire(claim, seconds=seconds)
        except Refused as refused:
            if not waits(refused):
                raise
            time.sleep(_PAUSE)
    try:
        yield held_lease
    finally:
        leases.release(held_lease)


@contextmanager
def while_nobody_runs(leases: "Leases", plan: str) -> Iterator[None]:
    """Keep everybody from running a plan while it is decided about; raise Refused if one does.

    Who ran it and is not heard of any more writes nothing from now on: what it is about to record
    belongs to a run that the decision puts an end to.
    """
    # In no worktree: it changes no files, so other plans may run meanwhile.
    with hold_lease(leases, my_claim(plan, f"the gate of {plan}")):
        yield


_TICK = 0.5


@contextmanager
def keep_renewed(
    leases: "Leases",
    held_lease: HeldLease,
    *,
    seconds: float,
    lost: Callable[[str], None],
    look: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Renew a lease as long as something lasts, and call `look` now and then.

    Where somebody took the lease over, `lost` is called with the reason, and that is the end of it.
    """
    over = threading.Event()

    def beat() -> None:
        due = time.monotonic() + seconds / 3
        while not over.wait(_TICK):
            try:
                if time.monotonic() >= due:
                    leases.renew(held_lease, seconds=seconds)
                    due = time.monotonic() + seconds / 3
                look()
            except LeaseLost as error:
                lost(error.message)
                return
            except PlanboundError:
                # The database is away for a moment: the lease lasts a while, and nothing can be
                # written without it.
                continue

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=5)


# -- leases: one plan has one runner, and whoever lost its lease can write nothing ---------------


class Leases(Protocol):
    """The leases of all plans of a journal. A failure is a `JournalProblem`.

    They stand in a database, or in memory: `planbound.testing.leases`.
    """

    def acquire(self, claim: Claim, *, seconds: float) -> HeldLease:
        """Take the lease of a plan; raise Refused, with a name, where a holder is in the way.

        That is whoever holds the plan's lease, and, as Claimed, whoever runs another plan in the
        same worktree, unless both declare what they touch and these are disjoint, or elsewhere,
        where both declare it and these meet. A lease whose time is up does not count, nor that of
        a process that is known to be dead: its holder can write nothing from now on. The number of
        the held_lease is higher than any before it for this plan.
        """

    def renew(self, held_lease: HeldLease, *, seconds: float) -> None:
        """Start the time anew; raise LeaseLost where somebody took the lease over."""

    def release(self, held_lease: HeldLease) -> None:
        """Give a lease back; somebody else's stays as it is."""

    def held(self, *, beside: str | None = None) -> Sequence[Held]:
        """Return all leases that were not given back, in the order of their plans.

        `beside` leaves out that of one plan.
        """

    def revoke(self, plan: str, *, by: str) -> Held | None:
        """End the lease of a plan, as a person decided; return it as it was, None if nobody had it.

        The number grows: its holder can write nothing from now on, and is told who took it.
        """
