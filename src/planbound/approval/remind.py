"""A question that nobody answers is asked again. It never becomes a yes by itself."""

from __future__ import annotations

import contextlib
import shlex
import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from types import TracebackType

from planbound.errors import PlanboundError, Stale
from planbound.journal.event import (
    replaced,
)
from planbound.journal.record import Draft, Journal
from planbound.journal.words import QuestionKind
from planbound.source import visible
from planbound.state.append import Recorder
from planbound.state.plan import PlanState, plan_states
from planbound.state.question import KINDS, Question
from planbound.workspace.context import Context

# -- A question that nobody answers is asked again. It never becomes a yes by itself -------------


MAX_REMINDERS = 10
"""For one request; who did not hear ten times will not hear the eleventh."""


def due(requested_at: str, reminded_count: int, now: str, every: float) -> bool:
    """Say whether it is time to ask again; times are in UTC, as the journal writes them.

    `requested_at` is when it was asked last: who was away for a week is reminded once.
    """
    if reminded_count >= MAX_REMINDERS:
        return False
    waited = datetime.fromisoformat(now) - datetime.fromisoformat(requested_at)
    return waited.total_seconds() >= every


def waiting(states: Iterable[PlanState]) -> list[Question]:
    """Return the approvals that plans wait for; a plan that waits for an answer does not."""
    found = (
        state.questions.of(QuestionKind.APPROVAL)
        for state in states
        if state.questions.of(QuestionKind.CLARIFICATION) is None
    )
    return [question for question in found if question is not None]


# -- ask again for approvals that nobody gave or refused -----------------------------------------


_TRIES = 5


def remind(recorder: Recorder, journal: Journal, every: float, now: str) -> list[str]:
    """Note a second question for each plan that waited longer than `every`; return which.

    Two processes that ask at once note one reminder, and only one of them gets it returned: so
    that people are told of it once.
    """
    asked = []
    for question in waiting(plan_states(journal, KINDS).values()):
        request = question.request
        if request is not None and due(request.asked, question.reminders, now, every):
            number = question.reminders + 1
            draft = recorder.draft(
                replaced(request.event, reminder=number),
                question.plan,
                key=f"{request.id} reminder {number}",
            )
            if _is_first(recorder.journal, draft):
                asked.append(question.plan)
    return asked


def _is_first(journal: Journal, draft: Draft) -> bool:
    """Append an event; say whether it was not there yet."""
    for _ in range(_TRIES):
        head = journal.head()
        try:
            return journal.append([draft], expected=head)[0].seq > head.seq
        except Stale:
            continue
    return False  # many write just now: the next look is soon enough


# -- asks again for approvals, as often as the configuration wants, while anything of ours runs --


_OFTEN, _SELDOM = 1.0, 60.0
"""How many seconds there are between two looks, at least and at most."""


def remind_waiting(context: Context, *, deliver: bool = True) -> list[str]:
    """Return the plans whose approval was asked for once more, here and now.

    Whoever gets one tells people of it; nobody else gets the same. Receivers are told as well,
    where there are some, unless the caller delivers itself.
    """
    every = context.configuration.gate.remind
    journal = context.existing_journal() if every is not None else None
    if every is None or journal is None:
        return []
    receivers = context.configuration.notify if deliver else ()
    outbox = None
    if receivers:
        from planbound.workspace.receivers import make_outbox  # noqa: PLC0415 - most have no receivers

        outbox = make_outbox(context)  # before anything is noted: who is new begins behind it
    found = remind(context.recorder(), journal, every, context.now())
    if found and outbox is not None:
        from planbound.workspace.notify import deliver as hand_over  # noqa: PLC0415 - see above

        for _attempt in hand_over(outbox.deliveries, outbox.entries, once=True, sleep=time.sleep):
            pass
    return found


def still_waits(slug: str) -> str:
    """Return what people are told."""
    name = shlex.quote(visible(slug))
    return f"`{visible(slug)}` still waits for approval: `planbound approve {name}`"


class Reminder:
    """Looks now and then, in a thread of its own, for as long as something else goes on.

    Where the configuration asks for no reminders it does nothing.
    """

    def __init__(self, context: Context, say: Callable[[str], None]) -> None:
        self._context = context
        self._say = say
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        """Look once, and begin."""
        every = self._context.configuration.gate.remind
        if every is None:
            return
        pause = min(_SELDOM, max(_OFTEN, every / 4))
        self._look(self._context)
        self._thread = threading.Thread(
            target=self._go_on, args=(pause,), name="reminding", daemon=True
        )
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End; a receiver that takes its time is not waited for."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=_OFTEN)

    def _go_on(self, pause: float) -> None:
        while not self._over.wait(pause):
            context = self._context.at(self._context.root)
            context.configuration = self._context.configuration
            try:
                self._look(context)
            finally:
                context.close()

    def _look(self, context: Context) -> None:
        # A database that is away for a moment ends nothing here.
        with contextlib.suppress(PlanboundError):
            for slug in remind_waiting(context):
                self._say(f"note: {still_waits(slug)}")
