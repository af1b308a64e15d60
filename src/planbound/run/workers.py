"""A worker: takes plans from the queue, and runs several at once."""

from __future__ import annotations

import enum
import os
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from planbound.disk.files import PlanFile
from planbound.disk.lock import this_process
from planbound.disk.space import disk_problem
from planbound.errors import JournalProblem, LeaseLost, NothingToDo, PlanboundError, Refused
from planbound.git.guard import heal
from planbound.journal.event import EventKind, ExecutionPaused
from planbound.journal.leases import Claim, Held, Leases, admit
from planbound.journal.record import HeldLease, Journal, Query, Record
from planbound.plan.model import Plan, Priority
from planbound.plan.parse import parse
from planbound.run.context import RunContext
from planbound.run.execution import Execution, RunOptions, RunWatcher
from planbound.run.loop import Again, Asking, DbosMotor, Halted, Later, Next, RunEnded
from planbound.run.start import StartedRun, claim_of, make_ready, open_session, read_state
from planbound.workspace.context import Context
from planbound.workspace.locate import locate

if TYPE_CHECKING:
    from planbound.run.dbos import DbosTickets


class Ticket(NamedTuple):
    """An approved plan's place on the queue; it stays there until its run has ended."""

    plan: str
    workspace: str
    """Where it was submitted, and is run."""
    worktree: str
    """What it claims, in the words of its lease."""
    touches: tuple[str, ...] | None
    roles: tuple[str, ...]
    """Who is needed for its steps."""
    priority: Priority
    nonce: str
    """The approval that it is for."""
    after: int
    """The journal's last event about the plan when it was submitted."""
    anyway: bool = False
    """Whether it is run although a plan that it depends on is not proved."""


# -- which plans of the queue a worker can take now ----------------------------------------------


class Fit(enum.Enum):
    """What is to be done with a ticket."""

    TAKE = "take"
    LEAVE = "leave"
    """Others run it or are in its way, it waits for a person, or somebody else is needed for it."""
    REMOVE = "remove"
    """Its run has ended."""


def fit(
    ticket: Ticket, journal: Journal, leases: Sequence[Held], roles: frozenset[str] | None
) -> Fit:
    """Say whether a worker that has these roles (None: any) can take a plan."""
    if roles is not None and not roles.issuperset(ticket.roles):
        return Fit.LEAVE
    if _is_taken(ticket, leases):
        return Fit.LEAVE
    if has_ended(ticket, journal):
        return Fit.REMOVE
    return Fit.LEAVE if _waits(ticket, journal) else Fit.TAKE


def _is_taken(ticket: Ticket, leases: Sequence[Held]) -> bool:
    claim = Claim(ticket.plan, ticket.worktree, ticket.touches, holder="")
    try:
        admit(claim, leases)
    except Refused:
        return True
    return False


def has_ended(ticket: Ticket, journal: Journal) -> bool:
    """Say whether the run came to an end since the plan was submitted, whatever that end is."""
    kinds = (EventKind.EXECUTION_COMPLETE,)
    query = Query(plan=ticket.plan, events=kinds, after=ticket.after, last=1)
    return any(True for _ in journal.read(query))


def _waits(ticket: Ticket, journal: Journal) -> bool:
    """Say whether a person was asked, and nothing has happened since."""
    for record in journal.read(Query(plan=ticket.plan, last=1)):
        event = record.event
        return isinstance(event, ExecutionPaused) and event.is_waiting
    return False


# -- put an approved plan on the queue of the workers --------------------------------------------


def submit(
    run_context: RunContext,
    tickets: DbosTickets,
    data: bytes,
    *,
    workspace: str,
    anyway: bool = False,
) -> Ticket:
    """Return the ticket; refuse what could not be run now, as the run itself would."""
    # Nothing is written under this held_lease: the worker that takes the plan gets its own.
    plan = parse(data, path=run_context.file.shown)
    held_lease, state = HeldLease(run_context.slug, 0), read_state(run_context, plan)
    ready = make_ready(open_session(run_context, state, held_lease, data), anyway=anyway)
    claim = claim_of(run_context, plan)
    layout = ready.session.layout
    targets = {slot.step.target.value for slot in layout.slots if slot.step.target is not None}
    ticket = Ticket(
        plan=run_context.slug,
        workspace=workspace,
        worktree=claim.worktree,
        touches=claim.touches,
        roles=tuple(sorted(targets)),
        priority=plan.priority.value if plan.priority else Priority.NORMAL,
        nonce=ready.approval.nonce,
        after=ready.session.state.seq,
        anyway=anyway,
    )
    for known in tickets.all():
        if known.plan == run_context.slug and has_ended(known, run_context.journal):
            tickets.remove(known)  # no worker came by since
    if not tickets.add(ticket):
        raise NothingToDo(f"`{run_context.slug}` is on the queue already")
    return ticket


# -- A worker: takes plans from the queue, and runs several at once ------------------------------


_LOOK_EVERY = 1.0
_FIRST_REST, _LONGEST_REST = 2.0, 60.0


class WorkerFate(enum.Enum):
    """What became of a plan that a worker had."""

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


class TakenPlan(NamedTuple):
    """A plan that a worker had."""

    plan: str
    fate: WorkerFate
    detail: str = ""


class WorkerWatcher:
    """Whoever looks at a worker, called from its threads; here nobody is there."""

    def took(self, name: str, plan: Plan) -> None:
        """Hear that a plan was taken."""

    def saw(self, plan: str, records: Sequence[Record]) -> None:
        """Hear what happens to it."""

    def say(self, plan: str, text: str) -> None:
        """Hear what is no event."""

    def vouch(self, context: Context, plan: str) -> str | None:  # noqa: ARG002 - nobody does here
        """Hear that it is done; return the SHA-256 of a receipt of it that is kept now."""
        return None

    def left(self, taken: TakenPlan) -> None:
        """Hear how it went."""


class _PlanWatcher(RunWatcher):
    """Hears of the run of one plan, and tells who looks at the worker."""

    def __init__(self, plan: str, watcher: WorkerWatcher) -> None:
        self._plan = plan
        self._watcher = watcher

    def started(self, run: StartedRun) -> None:
        self._watcher.took(self._plan, run.session.layout.plan)

    def saw(self, records: Sequence[Record]) -> None:
        self._watcher.saw(self._plan, records)

    def say(self, text: str) -> None:
        self._watcher.say(self._plan, text)

    def vouch(self, context: Context, slug: str) -> str | None:
        return self._watcher.vouch(context, slug)


class WorkerRules(NamedTuple):
    """How a worker works."""

    roles: frozenset[str] | None = None
    """Which steps it can do; None: all."""
    concurrency: int = 1
    once: bool = False
    """Whether to end when nothing is left to take."""


def submit_plan(context: Context, file: PlanFile, *, anyway: bool = False) -> Ticket:
    """Put an approved plan on the queue."""
    dbos = DbosMotor(context)
    run_context = RunContext(context, file)
    data = run_context.files.read(file.path)
    return submit(run_context, _tickets(context, dbos), data, workspace=context.root, anyway=anyway)


def _tickets(
    context: Context, dbos: DbosMotor, tell: Callable[[str], None] | None = None
) -> DbosTickets:
    from planbound.run.dbos import DbosTickets  # noqa: PLC0415 - half a second

    host = dbos.host()
    return DbosTickets(host.database, context.queue_name, tell)


class _WorkerJob:
    """One plan that a worker has."""

    def __init__(self, ticket: Ticket) -> None:
        self.ticket = ticket
        self.execution: Execution | None = None
        self.outcome: TakenPlan | None = None


class Worker:
    """Takes plans while there are some, until it is told to stop."""

    def __init__(self, context: Context, rules: WorkerRules, watcher: WorkerWatcher) -> None:
        self.context = context
        self.rules = rules
        self.watcher = watcher
        self._dbos = DbosMotor(context, executor=f"worker {this_process().mark}")
        self._jobs: dict[str, _WorkerJob] = {}
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

    def work(self) -> list[TakenPlan]:
        """Work until told to stop, or with `once` until nothing can be taken; return what ended."""
        tickets = _tickets(self.context, self._dbos, partial(self.watcher.say, ""))
        journal, leases = self.context.journal(), self.context.leases()
        taken: list[TakenPlan] = []
        while True:
            taken += self._collect(tickets)
            took = self._stop is None and self._look(tickets, journal, leases)
            if not self._jobs and (self._stop or (self.rules.once and not took)):
                return taken
            self._bell.wait(_LOOK_EVERY)
            self._bell.clear()

    # -- taking --------------------------------------------------------------------------------

    def _look(self, tickets: DbosTickets, journal: Journal, leases: Leases) -> bool:
        """Take what can be taken; say whether that was anything."""
        if len(self._jobs) >= self.rules.concurrency:
            return False
        try:
            return self._take(tickets, journal, leases)
        except JournalProblem as problem:
            if self.rules.once:
                raise
            self.watcher.say("", problem.message)  # the database is away for a while
            return False

    def _take(self, tickets: DbosTickets, journal: Journal, leases: Leases) -> bool:
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
                    self._dbos.forget(ticket.plan)
                    tickets.remove(ticket)
                case Fit.LEAVE:
                    pass
        return len(self._jobs) > before

    def _begin(self, ticket: Ticket) -> None:
        job = self._jobs[ticket.plan] = _WorkerJob(ticket)
        threading.Thread(
            target=self._run, args=(job,), name=f"plan-{ticket.plan}", daemon=True
        ).start()

    # -- running -------------------------------------------------------------------------------

    def _run(self, job: _WorkerJob) -> None:
        plan = job.ticket.plan
        try:
            fate, detail = self._execute(job)
        except LeaseLost as lost:
            fate, detail = WorkerFate.LOST, lost.message
        except NothingToDo as nothing:
            fate, detail = WorkerFate.ENDED, nothing.message
        except Refused as refused:
            admitted = job.execution is not None and job.execution.is_admitted
            fate, detail = WorkerFate.REFUSED if admitted else WorkerFate.LEFT, refused.message
        except KeyboardInterrupt:  # told to stop while it waited for the worktree
            fate, detail = WorkerFate.GIVEN_BACK, self._stop or ""
        except PlanboundError as error:
            fate, detail = WorkerFate.BROKEN, error.message
        except Exception as error:  # noqa: BLE001 - a bug with one plan must not end the others
            fate, detail = WorkerFate.BROKEN, self._broken(plan, error)
        job.outcome = TakenPlan(plan, fate, detail)
        self._bell.set()

    def _broken(self, plan: str, error: Exception) -> str:
        disk = disk_problem(error)
        if disk is not None:
            return disk.message
        self.watcher.say(plan, "".join(traceback.format_exception(error)))
        return f"this is a bug in Planbound: {error!r}"

    def _execute(self, job: _WorkerJob) -> tuple[WorkerFate, str]:
        plan = job.ticket.plan
        context = Context(workspace=job.ticket.workspace, state=self.context.given_state)
        heal(context)
        watcher = _PlanWatcher(plan, self.watcher)
        # What is in the way is left for later: others of the queue may be free.
        options = RunOptions(
            jobs=context.configuration.run.jobs,
            wait=False,
            dbos=self._dbos,
            anyway=job.ticket.anyway,
        )
        try:
            job.execution = Execution(context, locate(plan, context.tree), options, watcher)
            if self._stop is not None:
                return WorkerFate.GIVEN_BACK, self._stop
            return _fate(job.execution.execute())
        finally:
            context.close()

    def _collect(self, tickets: DbosTickets) -> list[TakenPlan]:
        """Part with the plans whose threads are through."""
        taken = []
        for plan, job in list(self._jobs.items()):
            outcome = job.outcome
            if outcome is None:
                continue
            del self._jobs[plan]
            if outcome.fate in {WorkerFate.ENDED, WorkerFate.REFUSED}:
                tickets.remove(job.ticket)
            if outcome.fate is WorkerFate.BROKEN:
                self._rest(plan)
            else:
                self._rests.pop(plan, None)
            if outcome.fate not in {WorkerFate.LEFT, WorkerFate.LOST}:
                self.watcher.left(outcome)
                taken.append(outcome)
        return taken

    def _rest(self, plan: str) -> None:
        seconds = min(max(_FIRST_REST, 2 * self._rests.get(plan, (0.0, 0.0))[1]), _LONGEST_REST)
        self._rests[plan] = (time.monotonic() + seconds, seconds)


def _fate(said: Next) -> tuple[WorkerFate, str]:
    match said:
        case RunEnded():
            return WorkerFate.ENDED, said.status.value
        case Asking():
            return WorkerFate.WAITING, ""
        case Halted():
            return WorkerFate.GIVEN_BACK, said.reason
        case Again() | Later():
            return WorkerFate.GIVEN_BACK, ""
