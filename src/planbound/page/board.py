"""What the journal says, kept between requests: only what is new is read and folded."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

from planbound.disk.files import PlanFile
from planbound.errors import JournalProblem
from planbound.journal.chain import is_whole
from planbound.journal.event import Event
from planbound.journal.log import MAX_FAULTS
from planbound.journal.record import GENESIS, Head, Journal, Provenance, Query
from planbound.page.looks import LookDesk
from planbound.page.merges import MergeDesk
from planbound.page.visit import NoSuchPage
from planbound.plan.model import Plan
from planbound.receipts.costs import AttemptCost, CostBook
from planbound.receipts.page import PageOf
from planbound.receipts.report import ReportReader
from planbound.state.plan import PlanState, questions_of
from planbound.state.question import Question
from planbound.workspace.context import Context
from planbound.workspace.overview import (
    NO_JOURNAL,
    PlanLine,
    PlanOverview,
    overview_with,
    read_plan_file,
)

Value = TypeVar("Value")
PlanRead = tuple[Plan | None, bytes, str | None]

_PLANS_AT_HAND = 500
_STORIES_AT_HAND = 8


class Recent(dict[str, tuple[Hashable, Value]]):
    """What was made last, each as long as what it was made from is the same."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def made(self, name: str, by: Hashable, make: Callable[[], Value]) -> Value:
        """Return what was made under a name, made anew where it was made by something else."""
        found = self.pop(name, None)
        if found is None or found[0] != by:
            found = (by, make())
        self[name] = found
        while len(self) > self._most:
            del self[next(iter(self))]
        return found[1]


class Board:
    """The state of every plan, up to the last event that was read.

    Who reads it has the lock: `with board.lock`.
    """

    def __init__(self, open_journal: Callable[[], Journal | None]) -> None:
        self._open = open_journal
        self._journal: Journal | None = None
        self.lock = threading.RLock()
        self.deciding = threading.Lock()
        """Who decides something has it: of two who decide at once the second sees what became."""
        self.looks = LookDesk()
        self.merges = MergeDesk()
        self._begin()
        self.problem: str | None = None
        """Why the journal cannot be read."""
        self._plans: Recent[PlanRead] = Recent(_PLANS_AT_HAND)
        self._stories: Recent[PageOf] = Recent(_STORIES_AT_HAND)

    def _begin(self) -> None:
        self.head: Head = GENESIS
        self.has_journal = False
        self.states: dict[str, PlanState] = {}
        self.costs = CostBook()
        self.faults: list[int] = []
        """Events that are not as they were written: their hash does not fit what they tell, or
        they do not follow the event before."""
        self.waits = 0
        """How many questions wait for a person, for who has no lock."""

    def refresh(self) -> None:
        """Read what is new; everything again where the journal is another one."""
        try:
            self._refresh()
            self.problem = None
        except JournalProblem as error:
            self._begin()
            self.problem = error.message

    def _reading(self) -> Journal | None:
        """Return the one journal that is kept open; None where there is none yet."""
        if self._journal is None:
            self._journal = self._open()
        return self._journal

    def _refresh(self) -> None:
        journal = self._reading()
        if journal is None:
            self._begin()
            return
        head = journal.head()
        if head != self.head and not (head.seq > self.head.seq and self._read_on(journal)):
            self._begin()
            self._read_on(journal, anew=True)
        self.has_journal = True
        self.waits = len(self.waiting)

    def _read_on(self, journal: Journal, *, anew: bool = False) -> bool:
        """Take in what follows; False where it does not follow what was read before.

        Where all is read anew, such an event is a fault, and what comes after it is read, too.
        """
        for record in journal.read(Query(after=self.head.seq)):
            follows = record.prev == self.head.hash and record.seq == self.head.seq + 1
            if not follows and not anew:
                return False
            if not (follows and is_whole(record)) and len(self.faults) < MAX_FAULTS:
                self.faults.append(record.seq)
            draft = record.draft
            if draft.plan and draft.provenance is Provenance.LIVE:
                state = self.states.get(draft.plan)
                if state is None:
                    state = self.states[draft.plan] = PlanState(draft.plan)
                state.apply(record)
                self.costs.add(record)
            self.head = Head(record.seq, record.hash)
        return True

    # -- what pages ask for ----------------------------------------------------------------------

    @property
    def waiting(self) -> list[Question]:
        """Return what waits for a person, the oldest first."""
        return questions_of(self.states.values())

    def event(self, seq: int) -> Event | None:
        """Return an event by its number; None where there is none."""
        journal = self._reading()
        if journal is None or not 0 < seq <= self.head.seq:
            return None
        found = next(iter(journal.read(Query(after=seq - 1))), None)
        return found.event if found is not None and found.seq == seq else None

    def attempts(self) -> list[AttemptCost]:
        """Return what every attempt cost."""
        return self.costs.attempts()

    def overview(self, context: Context) -> PlanOverview:
        """Return a line for each plan; a file that is as it was is not read again."""
        warnings = [] if self.has_journal else [NO_JOURNAL]
        if self.problem is not None:
            warnings = [f"{self.problem}: the status of each plan is what its file says"]
        states = self.states if self.has_journal else None

        def read(file: PlanFile) -> PlanRead:
            return self._plans.made(
                file.path, _look(file.path), lambda: read_plan_file(file, context.reader)
            )

        return overview_with(context.tree, states, read, warnings)

    def line(self, context: Context, slug: str) -> PlanLine | None:
        """Return the line of a plan, that of the plan in work where there are several."""
        lines = self.overview(context).lines
        return next((each for each in lines if each.file.slug == slug), None)

    def page(self, context: Context, slug: str) -> PageOf:
        """Return all that is known of a plan; raise NoSuchPage where nobody knows it."""
        line = self.line(context, slug)
        state = self.states.get(slug)
        if line is None and state is None:
            raise NoSuchPage(f"There is no plan `{slug}`.")
        path = line.file.path if line is not None else ""
        by = (state.seq if state is not None else 0, path, _look(path))
        return self._stories.made(slug, by, lambda: ReportReader(context).page(slug))


class _FileLook(NamedTuple):
    """How a file looks: one that was written looks different."""

    inode: int
    size: int
    changed: int


def _look(path: str) -> _FileLook | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return _FileLook(found.st_ino, found.st_size, found.st_ctime_ns)
