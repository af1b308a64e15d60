"""Follows the runs of several plans in the journal, each event read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from planbound.engine.run.state import RunState
from planbound.engine.run.step_state import Phase
from planbound.journal.event import EventKind
from planbound.ports.journal import Journal, Query

_ANEW = frozenset(
    {
        EventKind.PLAN_CREATED,
        EventKind.PLAN_AMENDED,
        EventKind.PLAN_REWRITTEN,
        EventKind.GATE_APPROVED,
    }
)
"""What may have changed the steps of a plan."""
_DECISIVE = _ANEW | {
    EventKind.PLAN_ACTIVATED,
    EventKind.PLAN_ARCHIVED,
    EventKind.GATE_REJECTED,
    EventKind.EXECUTION_COMPLETE,
    EventKind.FINALIZATION_ACCEPTED,
}
"""What may let a plan begin, or keep it from that."""


class Progress(NamedTuple):
    """How far a run is."""

    proved: int = 0
    holds: int = 0
    """How many steps are green, and were so before the work."""
    attested: int = 0
    steps: int = 0
    current: str = ""
    """The title of the step that is worked on."""
    why_ended: str | None = None
    asked: str = ""
    """Why a person is asked first, in words."""


class Following:
    """The runs of some plans."""

    def __init__(self, journal: Journal, begin: Callable[[str], RunState | None]) -> None:
        """`begin` returns the state of a plan to which no event was applied; None: unreadable."""
        self._journal = journal
        self._begin = begin
        self._states: dict[str, RunState | None] = {}
        self._seq = journal.head().seq

    def wait(self, seconds: float) -> None:
        """Wait until something happens, but not for longer."""
        self._journal.wait(self._seq, seconds)

    def read_on(self) -> bool:
        """Take in what happened; say whether it may change what a fleet does next."""
        decisive = False
        for record in self._journal.read(Query(after=self._seq)):
            self._seq = record.seq
            slug, kind = record.draft.plan, record.draft.event
            decisive = decisive or kind in _DECISIVE
            if kind in _ANEW:
                self._states.pop(slug, None)
            state = self._states.get(slug)
            if state is not None and record.seq > state.seq:
                state.apply(record)
        return decisive

    def last_seq(self, slug: str) -> int:
        """Return the number of the last event of a plan."""
        last = [record.seq for record in self._journal.read(Query(plan=slug, last=1))]
        return last[0] if last else 0

    def progress(self, slug: str) -> Progress:
        """Return how far a plan is."""
        state = self._state(slug)
        if state is None:
            return Progress()
        slots = zip(state.layout.slots, state.steps, strict=True)
        working = [slot.title for slot, step in slots if step.phase is Phase.STARTED]
        return Progress(
            proved=state.count(Phase.PROVED),
            holds=state.count(Phase.HOLDS),
            attested=state.count(Phase.ATTESTED),
            steps=len(state.steps),
            current=", ".join(working),
            why_ended=state.why_ended,
            asked=next((each.reason for each in state.questions.values()), ""),
        )

    def _state(self, slug: str) -> RunState | None:
        if slug not in self._states:
            state = self._begin(slug)
            if state is not None:
                state.apply_all(self._journal.read(Query(plan=slug)))
            self._states[slug] = state
        return self._states[slug]
