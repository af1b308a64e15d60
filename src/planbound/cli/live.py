"""One line at the bottom of a terminal that says what is being worked on."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType
from typing import Self

from planbound.cli.reports.progress import spoken
from planbound.journal.event import EventKind
from planbound.journal.record import Record
from planbound.source.visible import visible

_EVERY = 1.0
_ENDS = frozenset(
    {
        EventKind.TASK_COMPLETED,
        EventKind.TASK_FAILED,
        EventKind.TASK_SKIPPED,
        EventKind.RECOVERY_APPLIED,
        EventKind.RECOVERY_ESCALATION,
    }
)


class LiveLine:
    """Written over and over on standard error; gone when there is something to say."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled
        self._working: dict[str, tuple[str, float]] = {}
        self._notes: dict[str, str] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._shown = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self.enabled:
            self._thread = threading.Thread(target=self._tick, name="live", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=2)
        self.clear()

    def saw(self, record: Record) -> None:
        """Take notice of what begins and ends."""
        draft = record.draft
        with self._lock:
            if draft.event is EventKind.TASK_STARTED and draft.task_id is not None:
                self._working[draft.task_id] = (visible(draft.task_name or ""), time.monotonic())
            elif draft.event in _ENDS:
                self._working.pop(draft.task_id or "", None)
                self._notes.pop(draft.task_id or "", None)

    def note(self, step: str, text: str) -> None:
        """Take notice of what the agent of a step does now."""
        with self._lock:
            self._notes[step] = visible(text)

    def clear(self) -> None:
        """Make room for a line that stays."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False

    def _tick(self) -> None:
        while not self._over.wait(_EVERY):
            with self._lock:
                if not self._working:
                    self._clear()
                    continue
                now = time.monotonic()
                parts = [
                    f"{title} ({spoken(now - at)}){self._note(step)}"
                    for step, (title, at) in self._working.items()
                ]
                text = f"  at work: {', '.join(parts)}"[: _width() - 1]
                sys.stderr.write(f"\r\x1b[K{text}")
                sys.stderr.flush()
                self._shown = True

    def _note(self, step: str) -> str:
        note = self._notes.get(step)
        return f": {note}" if note else ""


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        return 80
