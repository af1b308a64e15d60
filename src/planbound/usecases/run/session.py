"""A run while this process holds its lease: its state, and the one way to add to the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from planbound.engine.fence import Fence
from planbound.engine.judging.case import Case, cases, plan_scope
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.verdict import Subject
from planbound.engine.manifest import Manifest, encode
from planbound.engine.run.layout import Layout, Slot
from planbound.engine.run.state import RunState
from planbound.engine.run.step_state import Phase
from planbound.errors import FileProblem, Stale
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Head, Json, Record
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.ports.journal import Query
from planbound.usecases.run.control import Control, ControlledCell
from planbound.usecases.run.desk import Desk
from planbound.usecases.run.notes import Notes
from planbound.usecases.run.occupancy import Occupancy
from planbound.usecases.run.screen import ScreenedTree, screened

_LOOK_EVERY = 0.2
"""How many seconds apart the journal is asked for what other processes added."""


class Session:
    """What the parts of the loop share."""

    def __init__(self, desk: Desk, state: RunState, fence: Fence, *, data: bytes, run: str) -> None:
        self.desk = desk
        self.state = state
        self.fence = fence
        self.control = Control()
        self.notes = Notes(desk.recorder, desk.slug, run)
        self.data = data
        """The plan's file as the harness wrote or read it last."""
        self.digest = digest(state.layout.plan)
        self.listeners: list[Callable[[Slot, str], None]] = []
        """Called with what agents say that they are doing, which is not kept."""
        self.watchers: list[Callable[[Sequence[Record]], None]] = []
        """Called with every event that is added, ours or not."""
        self.bench = desk.bench._replace(
            tree=ScreenedTree(desk.bench.tree),
            cell=ControlledCell(desk.bench.cell, self.control),
        )
        self.approved: Frozen | None = None
        """The tree that was approved, without the harness's own files."""
        scope = plan_scope(state.layout.plan)
        self.occupancy = Occupancy(
            desk.worktree, is_shared=scope.patterns is not None and not self.is_bare
        )
        self._cases: dict[int, Case] = {}
        self._looked = 0.0
        self._head: Head | None = None
        """The end of the journal when this run last added to it."""
        self._stamp: tuple[int, int, int] | None = None
        for case in cases(state.layout.plan):
            if case.subject is Subject.STEP:
                self._cases[len(self._cases)] = case

    @property
    def layout(self) -> Layout:
        """Return the steps."""
        return self.state.layout

    def now(self) -> str:
        """Return the time as the journal writes it."""
        return self.desk.recorder.now()

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
        return self.desk.recorder.redactor.redact(text).text

    # -- the journal ---------------------------------------------------------------------------

    def append(self, drafts: Sequence[Draft]) -> None:
        """Add events, all or none; raise LeaseLost where this is not the runner any more."""
        if not drafts:
            return
        self._appended(self.desk.journal.append(self._with_outcomes(drafts), fence=self.fence))

    def append_decided(self, drafts: Sequence[Draft]) -> bool:
        """Add events that follow from all that is known; False where there is news of the plan.

        Then nothing was added, and what is to be done has to be decided anew.
        """
        known, head = self.state.plan_seq, self._head
        drafts = self._with_outcomes(drafts)
        while True:
            if head is not None:
                try:
                    records = self.desk.journal.append(drafts, expected=head, fence=self.fence)
                except Stale:
                    pass  # of this plan or of another one
                else:
                    self._appended(records)
                    return True
            head = self.desk.journal.head()
            self._catch_up()
            if self.state.plan_seq != known:
                return False

    def _with_outcomes(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Return events with what they tell of recoveries; told in the same transaction."""
        return self.desk.recorder.with_outcomes(self.desk.slug, self.state.recovering, drafts)

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
        self._absorb(list(self.desk.journal.read(Query(plan=self.desk.slug, after=self.state.seq))))

    def _absorb(self, records: Sequence[Record]) -> None:
        if not records:
            return
        self.state.apply_all(records)
        for watcher in self.watchers:
            watcher(records)

    def note_pause(self, reason: str) -> None:
        """Note that the run stops here."""
        details: dict[str, Json] = {"reason": reason}
        if not any(step.phase is Phase.STARTED for step in self.state.steps):
            # What an attempt left is looked at when it is judged.
            details |= self.seen()
        self.append([self.notes.about(EventKind.EXECUTION_PAUSED, None, details)])

    # -- the tree ------------------------------------------------------------------------------

    @property
    def is_bare(self) -> bool:
        """Whether nothing is frozen: contracts run in the workspace itself."""
        return self.desk.bench.bare

    def stamp(self, root: str) -> str:
        """Return what a tree looks like, where nothing is frozen."""
        return self.desk.stamp(root)

    def seen(self) -> dict[str, Json]:
        """Return the tree as it is now, for an event."""
        if self.is_bare:
            return {"tree": self.stamp(self.bench.tree.root)}
        with self.occupancy.inside():
            manifest = self.bench.tree.manifest(self.bench.rules)
        return {"tree": manifest.digest, "manifest": self.keep(manifest)}

    def keep(self, manifest: Manifest) -> str:
        """Keep a manifest, without the files; return where."""
        import hashlib  # noqa: PLC0415 - not where nothing is frozen

        data = encode(manifest)
        key = hashlib.sha256(data)
        self.bench.vault.keep([(key.digest(), data)])
        return key.hexdigest()

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
        wrong = self.desk.place.misplaced()
        return None if wrong is None else f"workspace-mismatch: {wrong}"

    def changed_plan(self) -> str | None:
        """Return why the approval does not hold any more; None where it does."""
        files, file = self.desk.files, self.desk.file
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
