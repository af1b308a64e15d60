"""A run while this process holds its lease: its state, and the one way to add to the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

from planbound.agents.agent import Worked
from planbound.agents.control import ControlledCell, StopSignal
from planbound.cells.cell import Outcome
from planbound.disk.lock import WorktreeLock
from planbound.errors import FileProblem, Stale
from planbound.journal.event import (
    AttemptEnded,
    BaselineObserved,
    ContractEvaluated,
    Event,
    ExecutionPaused,
    FailureClassified,
    FailureDetected,
    replaced,
)
from planbound.journal.record import Draft, Head, HeldLease, Query, Record
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, Scope, cases, plan_scope, plan_touches
from planbound.judging.events import evaluated, observed, verdict_draft
from planbound.judging.reference import Frozen, keep_manifest
from planbound.judging.verdict import Verdict
from planbound.plan.digest import digest
from planbound.plan.model import StepStatus
from planbound.plan.parse import parse
from planbound.run.classify import Classified
from planbound.run.context import RunContext
from planbound.state.append import Recorder
from planbound.state.run import Layout, RunState, Slot
from planbound.workspace.manifest import Manifest
from planbound.workspace.measured import ScreenedTree, screened

# -- who of a run is in the workspace itself, so that other plans of the worktree keep out of it -


class Occupancy:
    """Takes the right to the workspace with the first who needs it, and leaves with the last."""

    def __init__(self, worktree: WorktreeLock, *, is_shared: bool) -> None:
        self._worktree = worktree
        self._is_shared = is_shared
        """Whether another plan can run beside this one at all."""
        self._inside = 0

    def enter(self, give_up: Callable[[], bool] = lambda: False) -> bool:
        """Say whether the workspace may be used now; where it may, somebody has to leave it."""
        if self._is_shared and not self._inside and not self._worktree.take(give_up):
            return False
        self._inside += 1
        return True

    def leave(self) -> None:
        self._inside -= 1
        if self._is_shared and not self._inside:
            self._worktree.leave()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Use the workspace for a moment."""
        self.enter()
        try:
            yield
        finally:
            self.leave()


# -- the events of a run, as drafts that are appended together -----------------------------------


_TAIL = 4000
_NAMES = 200
_PLAN = 50
_ERROR = 500


class EventDrafts:
    """Makes the drafts of one run."""

    def __init__(self, recorder: Recorder, slug: str, run: str) -> None:
        self.recorder = recorder
        self.slug = slug
        self.run = run
        self._count = 0

    def about(self, event: Event, slot: Slot | None) -> Draft:
        """Return an event about a step, or about the plan."""
        event = replaced(event, run=self.run)
        task = None
        if slot is not None:
            event = replaced(event, number=slot.label)
            task = (slot.id, slot.title)
        return self.recorder.draft(event, self.slug, key=self._key(), task=task)

    def _key(self) -> str:
        # The time alone is not enough: several events may be made within a microsecond.
        self._count += 1
        return f"{self.run} {self.recorder.now()} {self._count}"

    def evaluated(
        self, verdict: Verdict, slot: Slot | None, event: ContractEvaluated | None = None
    ) -> Draft:
        """Return a verdict with its evidence; `event` says more of it."""
        return self._verdict(verdict, slot, event or self.evaluation(verdict))

    def evaluation(self, verdict: Verdict, attempt: int | None = None) -> ContractEvaluated:
        """Return what an event tells of a verdict."""
        return replaced(evaluated(verdict, self.recorder.redactor), attempt=attempt)

    def observed(self, verdict: Verdict, slot: Slot, attempt: int) -> Draft:
        """Return what a contract said before an attempt."""
        event = replaced(observed(verdict, self.recorder.redactor), attempt=attempt)
        return self._verdict(verdict, slot, event)

    def _verdict(
        self, verdict: Verdict, slot: Slot | None, event: BaselineObserved | ContractEvaluated
    ) -> Draft:
        if slot is not None:
            verdict = verdict._replace(id=slot.id)
        return verdict_draft(self.recorder, self.slug, verdict, replaced(event, run=self.run))

    def ended(self, slot: Slot, attempt: int, worked: Worked, event: AttemptEnded) -> Draft:
        """Return how the agent's part of an attempt ended; `event` says what its order knows."""
        outcome, usage = worked.outcome, worked.usage
        event = replaced(
            event,
            attempt=attempt,
            exit_code=outcome.exit_code,
            duration=round(outcome.duration, 3),
            tokens=usage.tokens,
            dollars=None if usage.dollars is None else str(usage.dollars),
            output_digest=f"{outcome.stdout.sha256} {outcome.stderr.sha256}",
            output_tail=self.said(worked),
            estimated=usage.estimated or None,
            prompt=event.prompt if worked.told is None else worked.told,
            agent_plan=tuple(worked.plan[:_PLAN]) or None,
            error=worked.error[:_ERROR] if worked.error else None,
            leftovers=outcome.leftovers or None,
            reason=outcome.reason or event.reason,
            session=worked.session or None,
        )
        return self.about(event, slot)

    def said(self, worked: Worked) -> str:
        """Return the end of what an agent said, without its secrets."""
        if worked.said is None:
            return self.tail(worked.outcome)
        return self._end(f"{worked.said}\n{worked.outcome.stderr.text()}".strip())

    def tail(self, outcome: Outcome) -> str:
        """Return the end of what was printed, without its secrets."""
        return self._end(outcome.stdout.text() + outcome.stderr.text())

    def _end(self, text: str) -> str:
        # Before it is cut: half a secret would not be recognised.
        return self.recorder.redactor.redact(text).text[-_TAIL:] if text else ""

    def failure(
        self, slot: Slot | None, attempt: int, found: Classified, event: FailureDetected
    ) -> list[Draft]:
        """Return that something went wrong, and its type."""
        return [
            self.about(replaced(event, attempt=attempt), slot),
            self.classified(slot, attempt, found),
        ]

    def classified(self, slot: Slot | None, attempt: int, found: Classified) -> Draft:
        """Return the type of a failure."""
        event = FailureClassified(attempt=attempt, failure_type=found.kind, rule=found.rule)
        return self.about(event, slot)


def names(paths: Sequence[str]) -> tuple[str, ...]:
    """Return names for an event, not too many of them."""
    return tuple(paths[:_NAMES])


class SeenTree(NamedTuple):
    """A tree, and where it is kept."""

    digest: str
    manifest: str
    """The SHA-256 of its manifest in the vault."""


# -- A run while this process holds its lease: its state, and the one way to add to the journal --


_LOOK_EVERY = 0.2
"""How many seconds apart the journal is asked for what other processes added."""


class RunSession:
    """What the parts of the loop share."""

    def __init__(
        self, context: RunContext, state: RunState, held_lease: HeldLease, *, data: bytes, run: str
    ) -> None:
        self.context = context
        self.state = state
        self.held_lease = held_lease
        self.control = StopSignal()
        self.notes = EventDrafts(context.recorder, context.slug, run)
        self.data = data
        """The plan's file as the harness wrote or read it last."""
        self.digest = digest(state.layout.plan)
        self.listeners: list[Callable[[Slot, str], None]] = []
        """Called with what agents say that they are doing, which is no event."""
        self.watchers: list[Callable[[Sequence[Record]], None]] = []
        """Called with every event that is added, ours or not."""
        self.judging = context.judging._replace(
            tree=ScreenedTree(context.judging.tree),
            cell=ControlledCell(context.judging.cell, self.control),
        )
        self.approved: Frozen | None = None
        """The tree that was approved, without the harness's own files."""
        is_shared = plan_touches(state.layout.plan) is not None
        self.occupancy = Occupancy(context.worktree, is_shared=is_shared)
        self._cases: dict[int, Case] = {}
        self._looked = 0.0
        self._head: Head | None = None
        """The end of the journal when this run last added to it."""
        self.last: Head | None = None
        """The last record that this run took in; None: no more than it began with."""
        self._stamp: tuple[int, int, int] | None = None
        self.cases = tuple(cases(state.layout.plan))
        """All contracts of the plan, also those before its steps and behind them."""
        for case in self.cases:
            if case.subject is SubjectKind.STEP:
                self._cases[len(self._cases)] = case

    @property
    def layout(self) -> Layout:
        return self.state.layout

    @cached_property
    def scope(self) -> Scope:
        """What the steps may change together."""
        return plan_scope(self.layout.plan)

    def now(self) -> str:
        """Return the time as the journal writes it."""
        return self.context.recorder.now()

    def case(self, index: int) -> Case:
        """Return the contract of a step, and what is demanded of it."""
        return self._cases[index]

    def tell(self, slot: Slot, text: str) -> None:
        """Tell whoever looks on what the agent of a step is doing."""
        if self.listeners:
            clean = self.clean(text)
            for listener in self.listeners:
                listener(slot, clean)

    def clean(self, text: str) -> str:
        """Return a text without its secrets."""
        return self.context.recorder.redactor.redact(text).text

    # -- the journal ---------------------------------------------------------------------------

    def append(self, drafts: Sequence[Draft]) -> None:
        """Add events, all or none; raise LeaseLost where this is not the runner any more."""
        if not drafts:
            return
        self._appended(
            self.context.journal.append(self._with_outcomes(drafts), held_lease=self.held_lease)
        )

    def append_decided(self, drafts: Sequence[Draft]) -> bool:
        """Add events that follow from all that is known; False where there is news of the plan.

        Then nothing was added, and what is to be done has to be decided anew.
        """
        known, head = self.state.plan_seq, self._head
        drafts = self._with_outcomes(drafts)
        while True:
            if head is not None:
                try:
                    records = self.context.journal.append(
                        drafts, expected=head, held_lease=self.held_lease
                    )
                except Stale:
                    pass  # of this plan or of another one
                else:
                    self._appended(records)
                    return True
            head = self.context.journal.head()
            self._catch_up()
            if self.state.plan_seq != known:
                return False

    def _with_outcomes(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Return events with what they tell of recoveries; told in the same transaction."""
        return self.context.recorder.with_outcomes(self.context.slug, self.state.recovering, drafts)

    def _appended(self, records: Sequence[Record]) -> None:
        self._head = Head(records[-1].seq, records[-1].hash)
        if records[0].plan_seq == self.state.plan_seq + 1:
            self._absorb(records)
        else:
            self._catch_up()

    def refresh(self, *, at_once: bool = False) -> None:
        """Take in what others added: answers, a cancellation."""
        now = time.monotonic()
        if at_once or now - self._looked >= _LOOK_EVERY:
            self._looked = now
            self._catch_up()

    def _catch_up(self) -> None:
        self._absorb(
            list(self.context.journal.read(Query(plan=self.context.slug, after=self.state.seq)))
        )

    def _absorb(self, records: Sequence[Record]) -> None:
        if not records:
            return
        self.state.apply_all(records)
        self.last = Head(records[-1].seq, records[-1].hash)
        for watcher in self.watchers:
            watcher(records)

    def note_pause(self, reason: str) -> None:
        """Note that the run stops here."""
        event = ExecutionPaused(reason=reason)
        if not any(step.status is StepStatus.IN_PROGRESS for step in self.state.steps):
            # What an attempt left is looked at when it is judged.
            tree = self.seen()
            event = replaced(event, tree=tree.digest, manifest=tree.manifest)
        self.append([self.notes.about(event, None)])

    # -- the tree ------------------------------------------------------------------------------

    def seen(self) -> SeenTree:
        """Return the tree as it is now, for an event."""
        with self.occupancy.inside():
            manifest = self.judging.tree.manifest(self.judging.rules)
        return SeenTree(manifest.digest, self.keep(manifest))

    def keep(self, manifest: Manifest) -> str:
        """Keep a manifest, without the files; return where."""
        return keep_manifest(self.judging.vault, manifest).key

    def approve_tree(self, frozen: Frozen | None) -> None:
        """Take the tree that was approved as what the end is compared with."""
        if frozen is not None:
            self.approved = frozen._replace(manifest=screened(frozen.manifest))

    # -- the plan ------------------------------------------------------------------------------

    def overruled(self) -> str | None:
        """Return why this run has no approval any more, by the journal; None where it has."""
        if self.state.run != self.notes.run:
            return "the plan was decided about anew: this run is over"
        if self.state.approval is None:
            return "the approval was taken back"
        return None

    def misplaced(self) -> str | None:
        """Return why the workspace is not the plan's own any more; None where it is."""
        wrong = self.context.place.misplaced()
        return None if wrong is None else f"workspace-mismatch: {wrong}"

    def is_known(self, data: bytes) -> bool:
        """Say whether the file is as this run left it, and the journal tells of no other text."""
        plan = self.state.plan
        if data != self.data or plan.digest != self.digest or plan.approval.edited:
            return False
        query = Query(plan=self.context.slug, after=self.state.seq)
        return next(iter(self.context.journal.read(query)), None) is None

    def changed_plan(self) -> str | None:
        """Return why the approval does not hold any more; None where it does."""
        files, file = self.context.files, self.context.file
        stamp = files.stamp(file.path)
        if stamp is not None and stamp == self._stamp:
            return None
        try:
            data = files.read(file.path)
        except FileProblem as problem:
            return f"the plan cannot be read: {problem.message}"
        if data != self.data:
            found = digest(parse(data, path=file.shown))
            if found != self.digest:
                return f"digest changed: {self.digest[:12]} was approved, the file is {found[:12]}"
            self.data = data
        # Only now: a change is told as often as somebody asks.
        self._stamp = stamp
        return None
