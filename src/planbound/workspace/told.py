"""Who is told of a question: by which link it is decided, and whether the word has arrived."""

from __future__ import annotations

import enum
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from planbound.errors import PlanboundError
from planbound.journal.event import EventKind
from planbound.journal.record import Journal, Query, Record
from planbound.journal.words import QuestionKind
from planbound.state.plan import fold, questions_of
from planbound.state.question import KINDS, Question
from planbound.workspace.links import NOT_BY_LINK, link_for, write_link
from planbound.workspace.page_home import PageFolder

if TYPE_CHECKING:
    from planbound.workspace.context import Context
    from planbound.workspace.notify import Cursor, Notify

_ASKED_BY = {
    QuestionKind.APPROVAL: EventKind.GATE_APPROVAL_REQUESTED,
    QuestionKind.CLARIFICATION: EventKind.GATE_CLARIFICATION_ASKED,
    QuestionKind.INCOMPLETE: EventKind.FINALIZATION_CAPPED,
    QuestionKind.INTEGRATION: EventKind.INTEGRATION_STOPPED,
}
ASKING = frozenset({*_ASKED_BY.values(), EventKind.RECOVERY_ESCALATION})
"""The events that can ask a person something."""


def kind_that_asked(question: Question) -> EventKind:
    """Return the kind of the event by which a question was asked."""
    return _ASKED_BY.get(question.kind, EventKind.RECOVERY_ESCALATION)


# -- the link that a message brings ----------------------------------------------------------------


class QuestionLinks:
    """Makes the links that messages bring: to the page that runs, or none where none does."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._journal: Journal | None = None
        self._folder = PageFolder(context.state.folder)

    def address(self, entry: Notify, record: Record) -> str | None:
        """Return where a question is decided; None where it waits no more, or no page runs."""
        if record.kind not in ASKING:
            return None
        from planbound.workspace.notify import Desktop  # noqa: PLC0415 - who has receivers has it

        running = self._folder.running()
        question = self._question(record) if running else None
        if question is None:
            return None
        page = next((each for each in running if each.decides), running[0])
        # What the desktop is told stands in a command line, which every user of a machine can read.
        is_private = not isinstance(entry.target, Desktop)
        is_by_link = page.decides and question.kind not in NOT_BY_LINK
        if is_by_link and entry.person and is_private and self._may_decide():
            link = link_for(question, entry.person, time.time())
            return f"{page.address}/d/{write_link(self._folder.key(), link)}"
        return f"{page.address}/inbox#question-{quote(question.id, safe='')}"

    def _may_decide(self) -> bool:
        """Say whether links decide, by the rules of this moment: a page runs for days."""
        try:
            rules = self._context.configuration_now()
        except PlanboundError:  # whoever opens the inbox is told what is wrong
            return False
        return rules.page.links and not rules.gate.signed

    def _question(self, record: Record) -> Question | None:
        """Return the question that an event asks, or asks once more, where it is still open."""
        if self._journal is None:  # it may have been made since
            self._journal = self._context.existing_journal()
        if self._journal is None:
            return None
        query = Query(plan=record.draft.plan, events=KINDS)
        found = questions_of(fold(self._journal.read(query)).values())
        for each in found:
            again = each.request is not None and each.request.asked == record.draft.timestamp
            if each.seq == record.seq or again:
                return each
        return None


# -- whether the word has arrived ------------------------------------------------------------------


class Arrival(enum.Enum):
    """What became of the word to one receiver."""

    TOLD = "told"
    WAITS = "waits"
    """Not yet, or it is tried again."""
    GIVEN_UP = "given up"
    BEFORE = "before its time"
    """The receiver was configured only when the question had been asked."""


class QuestionDelivery(NamedTuple):
    """Whether one receiver was told of a question."""

    question: str
    target: str
    arrival: Arrival
    reason: str = ""
    """Why the last try failed."""

    @property
    def words(self) -> str:
        """Return it as people read it."""
        why = f": {self.reason}" if self.reason and self.arrival is not Arrival.TOLD else ""
        return f"{self.target} {self.arrival.value}{why}"


def deliveries(context: Context, questions: Sequence[Question]) -> list[QuestionDelivery]:
    """Return for each question who was to be told of it, and whether the word arrived."""
    entries = context.configuration.notify
    if not entries or not questions:
        return []
    from planbound.workspace.receivers import known_cursors  # noqa: PLC0415 - few have receivers

    cursors = known_cursors(context)
    return [
        _delivery(question, entry, cursors.get(entry))
        for question in questions
        for entry in entries
        if not entry.events or kind_that_asked(question) in entry.events
    ]


def _delivery(question: Question, entry: Notify, cursor: Cursor | None) -> QuestionDelivery:
    target = entry.target.shown
    if cursor is None:
        return QuestionDelivery(question.id, target, Arrival.WAITS, "nobody delivers yet")
    lost = next((each for each in cursor.given_up if each.seq == question.seq), None)
    if lost is not None:
        return QuestionDelivery(question.id, target, Arrival.GIVEN_UP, lost.reason)
    if question.seq <= cursor.start:
        return QuestionDelivery(question.id, target, Arrival.BEFORE)
    if question.seq <= cursor.seq:
        return QuestionDelivery(question.id, target, Arrival.TOLD)
    return QuestionDelivery(question.id, target, Arrival.WAITS, cursor.reason)
