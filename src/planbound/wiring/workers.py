"""Puts together a worker: it takes plans from the queue, and runs several at once."""

from __future__ import annotations

import enum
import os
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple

from planbound.errors import (
    JournalProblem,
    LeaseLost,
    NothingToDo,
    PlanboundError,
    Refused,
)
from planbound.journal.record import Record
from planbound.plan.model import Plan
from planbound.ports.files import PlanFile
from planbound.ports.journal import Journal
from planbound.ports.lease import Leases
from planbound.ports.motor import Again, Asking, Ended, Halted, Later, Next
from planbound.ports.tickets import Ticket, Tickets
from planbound.store.disk import disk_problem
from planbound.store.lock import this_process
from planbound.usecases.locate import locate
from planbound.usecases.submit import submit
from planbound.usecases.take import Fit, fit
from planbound.wiring.healing import heal
from planbound.wiring.motors import DbosMotors
from planbound.wiring.parts import Parts
from planbound.wiring.running import Execution, Hooks, Options, make_desk

_LOOK_EVERY = 1.0
_FIRST_REST, _LONGEST_REST = 2.0, 60.0


class Fate(enum.Enum):
    """How a worker and a plan parted."""

    ENDED = "ended"
    WAITING = "waiting"
    """It waits for a person; whoever is free takes it again when there is an answer."""
    GIVEN_BACK = "given back"
    LOST = "lost"
    """Somebody else has it: this worker was too slow."""
    LEFT = "left"
    """Others were in the way."""
    REFUSED = "refused"
    """It cannot be run any more as it was submitted."""
    BROKEN = "broken"
    """Something went wrong that may be mended; it is tried again later."""


class Parting(NamedTuple):
    """A plan that a worker had."""

    plan: str
    fate: Fate
    detail: str = ""


class Ears(NamedTuple):
    """What is told about a worker's work; called from its threads."""

    took: Callable[[str, Plan], None]
    saw: Callable[[str, Sequence[Record]], None]
    say: Callable[[str, str], None]
    parted: Callable[[Parting], None]


class Rules(NamedTuple):
    """How a worker works."""

    roles: frozenset[str] | None = None
    """Which steps it can do; None: all."""
    concurrency: int = 1
    once: bool = False
    """Whether to end when nothing is left to take."""


def submit_plan(parts: Parts, file: PlanFile, *, anyway: bool = False) -> Ticket:
    """Put an approved plan on the queue."""
    motors = DbosMotors(parts)
    desk = make_desk(parts, file)
    data = desk.files.read(file.path)
    return submit(desk, _tickets(parts, motors), data, workspace=parts.root, anyway=anyway)


def _tickets(parts: Parts, motors: DbosMotors) -> Tickets:
    from planbound.runtime.dbos_tickets import DbosTickets  # noqa: PLC0415 - half a second

    host = motors.host()
    return DbosTickets(host.database, parts.state.project)


class _Job:
    """One plan that a worker has."""

    def __init__(self, ticket: Ticket) -> None:
        self.ticket = ticket
        self.execution: Execution | None = None
        self.parting: Parting | None = None


class Worker:
    """Takes plans while there are some, until it is told to stop."""

    def __init__(self, parts: Parts, rules: Rules, ears: Ears) -> None:
        self.parts = parts
        self.rules = rules
        self.ears = ears
        self._motors = DbosMotors(parts, executor=f"worker {this_process().mark}")
        self._jobs: dict[str, _Job] = {}
        self._rests: dict[str, tuple[float, float]] = {}
        """By plan until when it is left alone, and how long that was."""
        self._bell = threading.Event()
        self._stop: str | None = None

    def stop(self, reason: str) -> None:
        """Give everything back and end; from any thread or signal handler."""
        self._stop = self._stop or reason
        for job in list(self._jobs.values()):
            if job.execution is not None:
                job.execution.stop(reason)
        self._bell.set()

    def work(self) -> list[Parting]:
        """Work until told to stop, or with `once` until nothing can be taken; return what ended."""
        tickets = _tickets(self.parts, self._motors)
        journal, leases = self.parts.journal(), self.parts.leases()
        partings: list[Parting] = []
        while True:
            partings += self._collect(tickets)
            took = self._stop is None and self._look(tickets, journal, leases)
            if not self._jobs and (self._stop or (self.rules.once and not took)):
                return partings
            self._bell.wait(_LOOK_EVERY)
            self._bell.clear()

    # -- taking --------------------------------------------------------------------------------

    def _look(self, tickets: Tickets, journal: Journal, leases: Leases) -> bool:
        """Take what can be taken; say whether that was anything."""
        if len(self._jobs) >= self.rules.concurrency:
            return False
        try:
            return self._take(tickets, journal, leases)
        except JournalProblem as problem:
            if self.rules.once:
                raise
            self.ears.say("", problem.message)  # the database is away for a while
            return False

    def _take(self, tickets: Tickets, journal: Journal, leases: Leases) -> bool:
        before = len(self._jobs)
        held, now = leases.held(), time.monotonic()
        for ticket in tickets.all():
            if len(self._jobs) >= self.rules.concurrency:
                break
            resting = self._rests.get(ticket.plan, (0.0, 0.0))[0] > now
            if ticket.plan in self._jobs or resting or not os.path.isdir(ticket.workspace):
                continue
            match fit(ticket, journal, held, self.rules.roles):
                case Fit.TAKE:
                    self._begin(ticket)
                case Fit.REMOVE:
                    self._motors.forget(ticket.plan)
                    tickets.remove(ticket)
                case Fit.LEAVE:
                    pass
        return len(self._jobs) > before

    def _begin(self, ticket: Ticket) -> None:
        job = self._jobs[ticket.plan] = _Job(ticket)
        threading.Thread(
            target=self._run, args=(job,), name=f"plan-{ticket.plan}", daemon=True
        ).start()

    # -- running -------------------------------------------------------------------------------

    def _run(self, job: _Job) -> None:
        plan = job.ticket.plan
        try:
            fate, detail = self._execute(job)
        except LeaseLost as lost:
            fate, detail = Fate.LOST, lost.message
        except NothingToDo as nothing:
            fate, detail = Fate.ENDED, nothing.message
        except Refused as refused:
            admitted = job.execution is not None and job.execution.is_admitted
            fate, detail = Fate.REFUSED if admitted else Fate.LEFT, refused.message
        except KeyboardInterrupt:  # told to stop while it waited for the worktree
            fate, detail = Fate.GIVEN_BACK, self._stop or ""
        except PlanboundError as error:
            fate, detail = Fate.BROKEN, error.message
        except Exception as error:  # noqa: BLE001 - a bug with one plan must not end the others
            fate, detail = Fate.BROKEN, self._broken(plan, error)
        job.parting = Parting(plan, fate, detail)
        self._bell.set()

    def _broken(self, plan: str, error: Exception) -> str:
        disk = disk_problem(error)
        if disk is not None:
            return disk.message
        self.ears.say(plan, "".join(traceback.format_exception(error)))
        return f"this is a bug in Planbound: {error!r}"

    def _execute(self, job: _Job) -> tuple[Fate, str]:
        plan = job.ticket.plan
        parts = Parts(workspace=job.ticket.workspace, state=self.parts.given_state)
        heal(parts)
        hooks = Hooks(
            saw=lambda records: self.ears.saw(plan, records),
            started=lambda started: self.ears.took(plan, started.session.layout.plan),
            say=lambda text: self.ears.say(plan, text),
            ask=lambda _: False,
        )
        # What is in the way is left for later: others of the queue may be free.
        options = Options(
            jobs=parts.configuration.run.jobs,
            wait=False,
            motors=self._motors,
            anyway=job.ticket.anyway,
        )
        try:
            job.execution = Execution(parts, locate(plan, parts.tree), options, hooks)
            if self._stop is not None:
                return Fate.GIVEN_BACK, self._stop
            return _fate(job.execution.execute())
        finally:
            parts.close()

    def _collect(self, tickets: Tickets) -> list[Parting]:
        """Part with the plans whose threads are through."""
        partings = []
        for plan, job in list(self._jobs.items()):
            parting = job.parting
            if parting is None:
                continue
            del self._jobs[plan]
            if parting.fate in {Fate.ENDED, Fate.REFUSED}:
                tickets.remove(job.ticket)
            if parting.fate is Fate.BROKEN:
                self._rest(plan)
            else:
                self._rests.pop(plan, None)
            if parting.fate not in {Fate.LEFT, Fate.LOST}:
                self.ears.parted(parting)
                partings.append(parting)
        return partings

    def _rest(self, plan: str) -> None:
        seconds = min(max(_FIRST_REST, 2 * self._rests.get(plan, (0.0, 0.0))[1]), _LONGEST_REST)
        self._rests[plan] = (time.monotonic() + seconds, seconds)


def _fate(said: Next) -> tuple[Fate, str]:
    match said:
        case Ended():
            return Fate.ENDED, said.status
        case Asking():
            return Fate.WAITING, ""
        case Halted():
            return Fate.GIVEN_BACK, said.reason
        case Again() | Later():
            return Fate.GIVEN_BACK, ""
