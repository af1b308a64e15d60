"""What follows the journal and need not be written at once: progress lines, the anchor."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence

from planbound.errors import PlanboundError
from planbound.journal.record import Record
from planbound.store.anchored_journal import AnchoredJournal

ANCHOR_EVERY = 0.1
_PROGRESS_EVERY = 1.0


class Deferred:
    """Writes now and then, and all of it when it is told to."""

    def __init__(self, journal: AnchoredJournal, show: Callable[[Sequence[Record]], None]) -> None:
        self._journal = journal
        self._show = show
        self._records: list[Record] = []
        self._written = 0.0
        self._turn = threading.Lock()

    def saw(self, records: Sequence[Record]) -> None:
        """Let what people read follow, soon."""
        with self._turn:
            self._records += records
            if time.monotonic() - self._written >= _PROGRESS_EVERY:
                self._write()

    def settle(self) -> None:
        """Write everything that was put off."""
        with self._turn:
            self._write()
        with contextlib.suppress(PlanboundError):
            self._journal.settle()

    def _write(self) -> None:
        if self._records:
            self._show(self._records)
            self._records = []
        self._written = time.monotonic()
