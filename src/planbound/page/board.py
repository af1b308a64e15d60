"""What the journal says, kept between requests: only what is new is folded."""

from __future__ import annotations

import threading
from collections.abc import Callable

from planbound.journal.record import GENESIS, Head, Journal, Provenance, Query
from planbound.page.looks import LookDesk
from planbound.state.plan import PlanState, questions_of
from planbound.state.question import Question


class Board:
    """The state of every plan, up to the last event that was read.

    Who reads it has the lock: `with board.lock`.
    """

    def __init__(self, open_journal: Callable[[], Journal | None]) -> None:
        self._open = open_journal
        self.lock = threading.RLock()
        self.deciding = threading.Lock()
        """Who decides something has it: of two who decide at once the second sees what became."""
        self.head: Head = GENESIS
        self.has_journal = False
        self.looks = LookDesk()
        self.states: dict[str, PlanState] = {}

    def refresh(self) -> None:
        """Read what is new; everything again where the journal is another one."""
        journal = self._open()
        self.has_journal = journal is not None
        if journal is None:
            self.states, self.head = {}, GENESIS
            return
        head = journal.head()
        if head == self.head:
            return
        if head.seq <= self.head.seq:
            self.states, self.head = {}, GENESIS
        for record in journal.read(Query(after=self.head.seq)):
            draft = record.draft
            if self.head.seq and record.seq == self.head.seq + 1 and record.prev != self.head.hash:
                self.states, self.head = {}, GENESIS
                self.refresh()
                return
            if draft.plan and draft.provenance is Provenance.LIVE:
                state = self.states.get(draft.plan)
                if state is None:
                    state = self.states[draft.plan] = PlanState(draft.plan)
                state.apply(record)
            self.head = Head(record.seq, record.hash)

    @property
    def waiting(self) -> list[Question]:
        """Return what waits for a person, the oldest first."""
        return questions_of(self.states.values())
