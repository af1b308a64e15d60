"""Asks again for approvals, as often as the configuration wants, while anything of ours runs."""

from __future__ import annotations

import contextlib
import shlex
import threading
import time
from collections.abc import Callable
from types import TracebackType

from planbound.errors import PlanboundError
from planbound.source.visible import visible
from planbound.usecases.remind import remind
from planbound.wiring.parts import Parts

_OFTEN, _SELDOM = 1.0, 60.0
"""How many seconds there are between two looks, at least and at most."""


def remind_waiting(parts: Parts, *, deliver: bool = True) -> list[str]:
    """Return the plans whose approval was asked for once more, here and now.

    Whoever gets one tells people of it; nobody else gets the same. Receivers are told as well,
    where there are some, unless the caller delivers itself.
    """
    every = parts.configuration.gate.remind
    journal = parts.existing_journal() if every is not None else None
    if every is None or journal is None:
        return []
    receivers = parts.configuration.notify if deliver else ()
    outbox = None
    if receivers:
        from planbound.wiring.notify import make_outbox  # noqa: PLC0415 - most have no receivers

        outbox = make_outbox(parts)  # before anything is noted: who is new begins behind it
    found = remind(parts.recorder(), journal, every, parts.now())
    if found and outbox is not None:
        from planbound.usecases.notify import deliver as hand_over  # noqa: PLC0415 - see above

        for _attempt in hand_over(outbox.deliveries, outbox.entries, once=True, sleep=time.sleep):
            pass
    return found


def still_waits(slug: str) -> str:
    """Return what people are told."""
    name = shlex.quote(visible(slug))
    return f"`{visible(slug)}` still waits for approval: `planbound approve {name}`"


class Reminding:
    """Looks now and then, in a thread of its own, for as long as something else goes on.

    Where the configuration asks for no reminders it does nothing.
    """

    def __init__(self, parts: Parts, say: Callable[[str], None]) -> None:
        self._parts = parts
        self._say = say
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        """Look once, and begin."""
        every = self._parts.configuration.gate.remind
        if every is None:
            return
        pause = min(_SELDOM, max(_OFTEN, every / 4))
        self._look(self._parts)
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
            parts = self._parts.at(self._parts.root)
            parts.configuration = self._parts.configuration
            try:
                self._look(parts)
            finally:
                parts.close()

    def _look(self, parts: Parts) -> None:
        # A database that is away for a moment ends nothing here.
        with contextlib.suppress(PlanboundError):
            for slug in remind_waiting(parts):
                self._say(f"note: {still_waits(slug)}")
