"""What follows the journal and need not be written at once: progress lines, the anchor."""

from __future__ import annotations

import contextlib
import threading
import time
from datetime import UTC, datetime

from planbound.errors import PlanboundError
from planbound.store.anchored_journal import AnchoredJournal
from planbound.store.progress import ProgressAppender

ANCHOR_EVERY = 0.1
_PROGRESS_EVERY = 1.0


class Deferred:
    """Writes now and then, and all of it when it is told to."""

    def __init__(self, journal: AnchoredJournal, progress: ProgressAppender) -> None:
        self._journal = journal
        self._progress = progress
        self._lines: list[tuple[str, datetime]] = []
        self._written = 0.0
        self._turn = threading.Lock()

    def note(self, text: str) -> None:
        """Add a line to the progress file, soon."""
        with self._turn:
            self._lines.append((text, datetime.now(UTC)))
            if time.monotonic() - self._written >= _PROGRESS_EVERY:
                self._write()

    def settle(self) -> None:
        """Write everything that was put off."""
        with self._turn:
            self._write()
        with contextlib.suppress(PlanboundError):
            self._journal.settle()

    def _write(self) -> None:
        if self._lines:
            # The journal has it: what people read must not end a run.
            with contextlib.suppress(PlanboundError):
                self._progress.append_all("planbound", self._lines)
            self._lines = []
        self._written = time.monotonic()
