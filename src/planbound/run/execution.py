"""One run in this process: takes the lease, keeps it, drives the loop, gives the lease back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from planbound.disk.files import PlanFile
from planbound.errors import Claimed, PlanboundError, Refused
from planbound.journal.event import EventKind, ExecutionPaused
from planbound.journal.leases import Claim, hold_lease, keep_renewed
from planbound.journal.record import HeldLease, Query, Record
from planbound.journal.words import MotorKind
from planbound.plan.parse import parse
from planbound.run.context import RunContext
from planbound.run.doing import DoingNotes
from planbound.run.loop import (
    CANCELLED,
    Asking,
    DbosMotor,
    Halted,
    Next,
    RunEnded,
    RunLoop,
    drive_inline,
)
from planbound.run.session import RunSession
from planbound.run.start import RunTerms, StartedRun, claim_of, start
from planbound.workspace.context import Context
from planbound.workspace.marks import is_news, look_at, notice

if TYPE_CHECKING:
    from planbound.workspace.receivers import DeliveryThreads


_PAUSE = 0.1
_COURIER_SECONDS = 3.0
INTERRUPTED = "interrupted"


class RunWatcher:
    """Whoever looks at a run, and answers what it asks; here nobody is there."""

    def started(self, run: StartedRun) -> None:
        """Hear that it began, or goes on."""

    def saw(self, records: Sequence[Record]) -> None:
        """Hear of every event."""

    def say(self, text: str) -> None:
        """Hear what is no event."""

    def vouch(self, context: Context, slug: str) -> str | None:  # noqa: ARG002 - nobody does here
        """Hear that the plan is done; return the SHA-256 of a receipt of it that is kept now."""
        return None

    def ask(self, session: RunSession) -> bool:  # noqa: ARG002 - there is nobody to be asked
        """Ask a person; say whether there is an answer."""
        return False


class RunOptions(NamedTuple):
    """How a run is to go."""

    jobs: int = 1
    wait: bool | None = None
    """Whether to wait for others who are in the way; None: only for those in other worktrees."""
    stay: bool = False
    """Whether to wait for answers that come by other ways."""
    dbos: DbosMotor | None = None
    """The DBOS that drives it; None: what the configuration says."""
    anyway: bool = False
    """Whether to run it although a plan that it depends on is not proved."""


class Execution:
    """One run in this process, from the lease to its release."""

    def __init__(
        self, context: Context, file: PlanFile, options: RunOptions, watcher: RunWatcher
    ) -> None:
        self.context = context
        self.options = options
        self.watcher = watcher
        self.kind = MotorKind.DBOS if options.dbos else context.configuration.run.motor
        # Now, so that it is refused before anything begins where DBOS is not installed.
        self.dbos = options.dbos
        if self.dbos is None and self.kind is MotorKind.DBOS:
            self.dbos = DbosMotor(context)
        self.run_context = RunContext(context, file)
        self.lease_seconds = context.configuration.run.lease
        self.is_admitted = False
        """Whether the lease was acquired: a refusal before that is about others in the way."""
        self.session: RunSession | None = None
        self._stop: str | None = None

    def stop(self, reason: str) -> None:
        """Ask the run to end; from any thread or signal handler."""
        self._stop = self._stop or reason
        if self.session is not None:
            self.session.control.stop(reason)

    def execute(self) -> Next:
        """Run until it ends, is stopped, or waits for a person."""
        run_context = self.run_context
        data = before = run_context.files.read(run_context.file.path)
        plan = run_context.snapshots.parse(data, path=run_context.file.shown)
        claim = claim_of(run_context, plan)
        waits = partial(self._waits, claim, set())
        with hold_lease(
            run_context.leases, claim, seconds=self.lease_seconds, waits=waits
        ) as held_lease:
            self.is_admitted = True
            try:
                # Read again under the lease: whoever held it may have written marks into it.
                data = run_context.files.read(run_context.file.path)
                if data != before:
                    plan = parse(data, path=run_context.file.shown)
                self._await_worktree()
                options = self.options
                terms = RunTerms(options.jobs, self.kind, anyway=options.anyway)
                said = self._drive(start(run_context, terms, held_lease, data, plan), held_lease)
                if isinstance(said, RunEnded) and said.status.is_complete:
                    receipt = self.watcher.vouch(self.context, run_context.slug)
                    if run_context.place.is_bound:
                        objective = plan.objective.value if plan.objective else ""
                        self._commit(objective, receipt)
                return said
            finally:
                self._notice()
                run_context.settle()

    def _notice(self) -> None:
        """Put on record that somebody changed the plan meanwhile, where that is so."""
        run_context = self.run_context
        with suppress(PlanboundError):
            data = run_context.files.read(run_context.file.path)
            if self.session is not None and self.session.is_known(data):
                return
            seen = look_at(run_context.journal, run_context.file, data)
            if is_news(seen):
                notice(run_context.recorder, run_context.files, seen)

    def _commit(self, objective: str, receipt: str | None) -> None:
        """Commit what was proved, so that it cannot get lost; `integrate` does it where not."""
        from planbound.run.commit import commit_done  # noqa: PLC0415 - only in worktrees of ours

        try:
            commit = commit_done(self.context, self.run_context.file, objective, receipt)
        except PlanboundError as error:
            self.watcher.say(f"note: what was proved is not committed: {error.message}")
        else:
            if commit is not None:
                self.watcher.say(f"note: what was proved is committed: {commit[:12]}")

    def _courier(self) -> DeliveryThreads | None:
        """Return what tells receivers of events; most workspaces have none, and load nothing."""
        if not self.context.configuration.notify:
            return None
        from planbound.workspace.receivers import make_courier  # noqa: PLC0415 - see above

        return make_courier(self.context)

    def _await_worktree(self) -> None:
        """Wait until no other plan works in the workspace itself: from now on it makes copies."""
        worktree = self.run_context.worktree
        if worktree.take(lambda: True):
            worktree.leave()
            return
        self.watcher.say("note: waits until a step of another plan has ended in this worktree")
        if not worktree.take(lambda: self._stop is not None):
            raise KeyboardInterrupt
        worktree.leave()

    def _waits(self, claim: Claim, noted: set[str], refused: Refused) -> bool:
        """Say whether to wait for who is in the way; `noted` are those that were told of."""
        elsewhere = isinstance(refused, Claimed) and refused.worktree != claim.worktree
        if not (elsewhere if self.options.wait is None else self.options.wait):
            return False
        if isinstance(refused, Claimed) and elsewhere and refused.plan not in noted:
            noted.add(refused.plan)
            self.watcher.say(f"note: {refused.message}")
        if self._stop is not None:
            raise KeyboardInterrupt
        return True

    def _drive(self, started: StartedRun, held_lease: HeldLease) -> Next:
        session = self.session = started.session
        if self._stop is not None:
            session.control.stop(self._stop)
        session.watchers.append(self.watcher.saw)
        courier = self._courier()
        if courier is not None:
            courier.start()
            session.watchers.append(lambda _: courier.nudge())
        doing = DoingNotes(self.context.state.folder, self.run_context.slug)
        session.listeners.append(doing.tell)
        self.watcher.started(started)
        leases = self.context.leases()
        renew = partial(leases.renew, held_lease, seconds=self.lease_seconds)
        runner = RunLoop(session, jobs=self.options.jobs, say=self.watcher.say)
        try:
            with keep_renewed(
                leases,
                held_lease,
                seconds=self.lease_seconds,
                lost=session.control.stop,
                look=partial(_look_for_decisions, session, renew, [session.state.seq]),
            ):
                return self._turns(session, runner)
        except BaseException:
            session.control.stop("the run broke down")
            runner.abandon()
            raise
        finally:
            doing.end()
            if courier is not None:
                courier.finish(_COURIER_SECONDS)

    def _turns(self, session: RunSession, runner: RunLoop) -> Next:
        ask = partial(self.watcher.ask, session)
        if self.dbos is None:
            said = drive_inline(session, runner.turn, ask)
        else:
            said = self.dbos.drive(session, runner.turn, ask, stay=self.options.stay)
        if isinstance(said, Halted):
            runner.pause(said.reason)
        elif isinstance(said, Asking):
            runner.pause(ExecutionPaused.WAITING)
        return said


def _look_for_decisions(session: RunSession, renew: Callable[[], None], seen: list[int]) -> None:
    """Stop where a person ended the run; raise LeaseLost where one took the lease away."""
    session.context.settle()
    journal = session.context.journal
    head = journal.head().seq
    if head <= seen[0]:
        return
    kinds = (EventKind.EXECUTION_CANCELLED, EventKind.LEASE_RELEASED)
    query = Query(plan=session.context.slug, events=kinds, after=seen[0])
    seen[0] = head
    for record in journal.read(query):
        if record.kind is EventKind.EXECUTION_CANCELLED:
            session.control.stop(CANCELLED)
        else:
            renew()
