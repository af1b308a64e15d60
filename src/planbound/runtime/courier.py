"""Tells receivers what happens while something else goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from planbound.engine.notify import Notify
from planbound.errors import PlanboundError
from planbound.usecases.notify import Deliveries

PATIENCE = 3.0
"""How many seconds receivers have at the end of a run."""
_LOOK = 2.0
"""How often to look for what other processes put into the journal, in seconds."""
_BRIEFLY = 0.05
"""How long to wait for another process that delivers just now, when the end has come."""
_GRACE = 0.5
"""How long a command that was broken off may take to be gone."""


class Courier:
    """A thread for each entry, so that no receiver waits for another; nobody waits for them.

    `obstacles` says why some entries are left to a later process.
    """

    def __init__(
        self, deliveries: Deliveries, entries: Sequence[Notify], *, obstacles: Sequence[str] = ()
    ) -> None:
        self.obstacles = tuple(obstacles)
        self._deliveries = deliveries
        self._entries = tuple(entries)
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._nudges = 0
        self._end: float | None = None

    def start(self) -> None:
        """Begin to deliver what is outstanding and what comes."""
        for entry in self._entries:
            thread = threading.Thread(target=self._work, args=(entry,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def nudge(self) -> None:
        """Say that there are new events."""
        with self._changed:
            self._nudges += 1
            self._changed.notify_all()

    def finish(self, seconds: float = PATIENCE) -> bool:
        """Deliver what can be delivered in so many seconds, then stop.

        Return whether all threads ended; what was not delivered is left to the next courier.
        """
        with self._changed:
            self._end = time.monotonic() + seconds
            self._nudges += 1
            self._changed.notify_all()
        limit = self._end + _GRACE
        for thread in self._threads:
            thread.join(max(0.0, limit - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self, entry: Notify) -> None:
        while True:
            seen = self._nudges
            try:
                pause = self._deliver(entry)
            except PlanboundError:
                # The journal or the cursor cannot be had now. Whoever runs a plan hears of that
                # by itself; telling others is not worth a word.
                pause = _LOOK
            with self._changed:
                if self._is_over(pause, seen):
                    return
                limit = _LOOK if pause is None else min(pause, _LOOK)
                if self._nudges == seen:
                    self._changed.wait(limit)

    def _is_over(self, pause: float | None, seen: int) -> bool:
        if self._end is None or self._nudges != seen:  # the journal was read before the end
            return self._hurry()
        return pause is None or pause >= self._end - time.monotonic()

    def _deliver(self, entry: Notify) -> float | None:
        """Deliver what is due; return how long to wait for more, None where nothing is left."""
        with self._deliveries.alone(entry) as is_alone:
            while is_alone and not self._hurry():
                if self._deliveries.attempt(entry, hurry=self._hurry) is None:
                    break
        pause = self._deliveries.wait(entry)
        if pause is None or is_alone:
            return pause
        return max(pause, _LOOK if self._end is None else _BRIEFLY)

    def _hurry(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end
