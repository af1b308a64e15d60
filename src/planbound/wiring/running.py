"""Puts together what a run needs, and sees it through in this process."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from planbound import __version__
from planbound.engine.claims import Claim
from planbound.engine.fence import Fence
from planbound.engine.judging.level import Isolation
from planbound.engine.readiness import PlanInfo
from planbound.engine.team.state import PROVED
from planbound.errors import Claimed, PlanboundError, Refused
from planbound.journal.event import EventKind
from planbound.journal.record import Record
from planbound.plan.parse import parse
from planbound.ports.files import PlanFile
from planbound.ports.journal import Journal, Query
from planbound.ports.motor import Asking, Ended, Halted, Next
from planbound.runtime.heartbeat import Heartbeat
from planbound.shell.cell.copies import WorkspaceCopies
from planbound.shell.git.guard import GitGuard
from planbound.shell.git.keeping import Level
from planbound.store.lock import this_process
from planbound.store.worktree_lock import WorktreeLock
from planbound.usecases.marks import is_news, look_at, notice
from planbound.usecases.run.desk import Desk
from planbound.usecases.run.runner import CANCELLED, Runner
from planbound.usecases.run.session import Session
from planbound.usecases.run.start import Started, Wish, claim_of, start
from planbound.wiring.agents import make_agents
from planbound.wiring.bound import make_place
from planbound.wiring.deferred import ANCHOR_EVERY, Deferred
from planbound.wiring.healing import git_guard
from planbound.wiring.judging import make_bench
from planbound.wiring.motors import Motors, make_motors
from planbound.wiring.notify import make_courier
from planbound.wiring.parts import Parts
from planbound.wiring.tools import contract_tools, said_tools
from planbound.workspace.frozen_tree import RealTree
from planbound.workspace.homes import FolderHomes
from planbound.workspace.stamp import stamp_of

_PAUSE = 0.1
_COURIER_SECONDS = 3.0
INTERRUPTED = "interrupted"


class Hooks(NamedTuple):
    """What the face of a run does."""

    saw: Callable[[Sequence[Record]], None]
    """Called with every event."""
    started: Callable[[Started], None]
    say: Callable[[str], None]
    ask: Callable[[Session], bool]
    """Asks a person; says whether there is an answer."""


class Options(NamedTuple):
    """How a run is to go."""

    jobs: int = 1
    wait: bool | None = None
    """Whether to wait for others who are in the way; None: only for those in other worktrees."""
    stay: bool = False
    """Whether to wait for answers that come by other ways."""
    motors: Motors | None = None
    """What drives it; None: what the configuration says."""
    anyway: bool = False
    """Whether to run it although a plan that it depends on is not proved."""


class Execution:
    """One run in this process, from the lease to its release."""

    def __init__(self, parts: Parts, file: PlanFile, options: Options, hooks: Hooks) -> None:
        self.parts = parts
        self.options = options
        self.hooks = hooks
        self.motors = options.motors or make_motors(parts)
        self.desk = make_desk(parts, file)
        self.lease_seconds = parts.configuration.run.lease
        self.is_admitted = False
        """Whether the lease was acquired: a refusal before that is about others in the way."""
        self.session: Session | None = None
        self._stop: str | None = None

    def stop(self, reason: str) -> None:
        """Ask the run to end; from any thread or signal handler."""
        self._stop = self._stop or reason
        if self.session is not None:
            self.session.control.stop(reason)

    def execute(self) -> Next:
        """Run until it ends, is stopped, or waits for a person."""
        desk = self.desk
        data = before = desk.files.read(desk.file.path)
        plan = parse(data, path=desk.file.shown)
        claim = claim_of(desk, plan)
        fence = self._acquire(claim)
        self.is_admitted = True
        try:
            # Read again under the lease: whoever held it may have written marks into it.
            data = desk.files.read(desk.file.path)
            if data != before:
                plan = parse(data, path=desk.file.shown)
            self._await_worktree()
            options = self.options
            wish = Wish(options.jobs, self.motors.kind.value, anyway=options.anyway)
            said = self._drive(start(desk, wish, fence, data, plan), fence)
            if isinstance(said, Ended) and said.status in PROVED and desk.place.is_bound:
                self._commit(plan.objective.value if plan.objective else "")
            return said
        finally:
            self._notice()
            desk.settle()
            desk.leases.release(fence)

    def _notice(self) -> None:
        """Put on record that somebody changed the plan meanwhile, where that is so."""
        desk = self.desk
        with suppress(PlanboundError):
            seen = look_at(desk.journal, desk.file, desk.files.read(desk.file.path))
            if is_news(seen):
                notice(desk.recorder, desk.files, seen)

    def _commit(self, objective: str) -> None:
        """Commit what was proved, so that it cannot get lost; `integrate` does it where not."""
        from planbound.wiring.team import commit_done  # noqa: PLC0415 - only in worktrees of ours

        try:
            commit = commit_done(self.parts, self.desk.file, objective)
        except PlanboundError as error:
            self.hooks.say(f"note: what was proved is not committed: {error.message}")
        else:
            if commit is not None:
                self.hooks.say(f"note: what was proved is committed: {commit[:12]}")

    def _await_worktree(self) -> None:
        """Wait until no other plan works in the workspace itself: from now on it makes copies."""
        worktree = self.desk.worktree
        if worktree.take(lambda: True):
            worktree.leave()
            return
        self.hooks.say("note: waits until a step of another plan has ended in this worktree")
        if not worktree.take(lambda: self._stop is not None):
            raise KeyboardInterrupt
        worktree.leave()

    def _acquire(self, claim: Claim) -> Fence:
        noted: set[str] = set()
        while True:
            try:
                return self.desk.leases.acquire(claim, seconds=self.lease_seconds)
            except Refused as refused:
                elsewhere = isinstance(refused, Claimed) and refused.worktree != claim.worktree
                if not (elsewhere if self.options.wait is None else self.options.wait):
                    raise
                if isinstance(refused, Claimed) and elsewhere and refused.plan not in noted:
                    noted.add(refused.plan)
                    self.hooks.say(f"note: {refused.message}")
            if self._stop is not None:
                raise KeyboardInterrupt
            time.sleep(_PAUSE * 2)

    def _drive(self, started: Started, fence: Fence) -> Next:
        session = self.session = started.session
        if self._stop is not None:
            session.control.stop(self._stop)
        session.watchers.append(self.hooks.saw)
        courier = make_courier(self.parts)
        if courier is not None:
            courier.start()
            session.watchers.append(lambda _: courier.nudge())
        self.hooks.started(started)
        leases = self.parts.leases()
        renew = partial(leases.renew, fence, seconds=self.lease_seconds)
        beat = Heartbeat(
            leases,
            fence,
            seconds=self.lease_seconds,
            lost=session.control.stop,
            look=partial(_look_for_decisions, session, renew, [session.state.seq]),
        )
        beat.start()
        runner = Runner(session, jobs=self.options.jobs, say=self.hooks.say)
        try:
            return self._turns(session, runner)
        except BaseException:
            session.control.stop("the run broke down")
            runner.abandon()
            raise
        finally:
            beat.end()
            if courier is not None:
                courier.finish(_COURIER_SECONDS)

    def _turns(self, session: Session, runner: Runner) -> Next:
        ask = partial(self.hooks.ask, session)
        motor = self.motors.make(session, ask, stay=self.options.stay)
        said = motor.drive(runner.turn)
        if isinstance(said, Halted):
            runner.pause(said.reason)
        elif isinstance(said, Asking):
            runner.pause("waiting")
        return said


def make_desk(parts: Parts, file: PlanFile) -> Desk:
    """Return the parts of a run."""
    bench = make_bench(parts)
    me = this_process()
    journal = parts.journal(anchor_every=ANCHOR_EVERY)
    deferred = Deferred(journal, parts.show_progress)
    journal.added = deferred.saw
    return Desk(
        bench=bench,
        recorder=parts.recorder(journal),
        leases=parts.leases(),
        files=parts.files,
        file=file,
        configuration=parts.configuration,
        agents=make_agents(parts.configuration, parts.root),
        copies=WorkspaceCopies(os.path.join(parts.state.folder, "copies")),
        homes=FolderHomes(os.path.join(parts.state.folder, "homes")),
        tree_at=RealTree,
        stamp=stamp_of,
        agent_masked=bench.masked,
        project=parts.state.project,
        version=__version__,
        holder=me.name,
        process=me.mark,
        settle=deferred.settle,
        jitter=_jitter,
        nonce=lambda: os.urandom(4).hex(),
        worktree=WorktreeLock(os.path.join(parts.state.locks, _worktree_name(parts.root))),
        tools=lambda cases, manifest: said_tools(contract_tools(parts, bench, cases, manifest)),
        place=make_place(parts, file.slug),
        guard=make_guard(parts, bench.cell.isolation),
        plans=partial(_plans, parts, journal),
    )


def _plans(parts: Parts, journal: Journal) -> list[PlanInfo]:
    """Return what all plans are to each other, for a plan that depends on some."""
    from planbound.usecases.overview import overview, plan_infos  # noqa: PLC0415 - seldom

    seen = overview(parts.tree, parts.files, lambda: journal)
    return plan_infos(seen, [], parts.configuration.gate.require)


def make_guard(parts: Parts, isolation: Isolation) -> GitGuard:
    """Return what keeps the repository from being lost to agents in such a cell."""
    bare = parts.configuration.judging.bare
    level = Level(
        mounts=isolation.reaches(Isolation.I2),
        walls=isolation.reaches(Isolation.I1),
        watched=not bare,
    )
    return git_guard(parts, level)


def _jitter() -> float:
    """Return a number between 0 and 1; `random` takes its time to load."""
    return int.from_bytes(os.urandom(4), "big") / (1 << 32)


def _worktree_name(root: str) -> str:
    digest = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()
    return f"worktree-{digest[:12]}.lock"


def _look_for_decisions(session: Session, renew: Callable[[], None], seen: list[int]) -> None:
    """Stop where a person ended the run; raise LeaseLost where one took the lease away."""
    session.desk.settle()
    journal = session.desk.journal
    head = journal.head().seq
    if head <= seen[0]:
        return
    kinds = (EventKind.EXECUTION_CANCELLED, EventKind.LEASE_RELEASED)
    query = Query(plan=session.desk.slug, events=kinds, after=seen[0])
    seen[0] = head
    for record in journal.read(query):
        if record.draft.event is EventKind.EXECUTION_CANCELLED:
            session.control.stop(CANCELLED)
        else:
            renew()
