"""One line at the bottom of a terminal that says what is being worked on, and judged."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType
from typing import NamedTuple, Self

from planbound.cli.reports.progress import spoken
from planbound.journal.event import EventKind
from planbound.journal.record import Record
from planbound.source.visible import visible
from planbound.usecases.bench import Stage

_EVERY = 1.0
_PLAIN = (1.0, 10.0)
"""After so many seconds a line is written where it cannot be written over; then ever less often."""
_COMMAND = 60
_ENDS = frozenset(
    {
        EventKind.TASK_COMPLETED,
        EventKind.TASK_FAILED,
        EventKind.TASK_SKIPPED,
        EventKind.RECOVERY_APPLIED,
        EventKind.RECOVERY_ESCALATION,
    }
)


class _Judging(NamedTuple):
    stage: Stage
    since: float
    due: float
    """When it is next said in plain lines, in seconds since it began."""

    def text(self, now: float) -> str:
        place = f" {self.stage.place}/{self.stage.total}" if self.stage.total > 1 else ""
        command = visible(self.stage.command)
        if len(command) > _COMMAND:
            command = command[: _COMMAND - 1] + "…"
        part = f", {self.stage.part}" if self.stage.part else ""
        return f"judging{place}: {command}, {spoken(now - self.since)}{part}"


class LiveLine:
    """Written over and over on standard error; gone when there is something to say.

    Elsewhere than on a terminal only what is judged for long is said, in plain lines.
    """

    def __init__(self, *, enabled: bool, plain: bool = False) -> None:
        self.enabled = enabled
        self.plain = plain and not enabled
        self._working: dict[str, tuple[str, float]] = {}
        self._notes: dict[str, str] = {}
        self._judging: dict[int, _Judging] = {}
        """By thread."""
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._shown = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self.enabled:
            self._begin()
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

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._tick, name="live", daemon=True)
            self._thread.start()

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
            self._notes[step] = visible(" ".join(text.split()))

    def judging(self, stage: Stage | None) -> None:
        """Take notice of what is judged now in this thread."""
        if not self.enabled and not self.plain:
            return
        with self._lock:
            me = threading.get_ident()
            if stage is None:
                self._judging.pop(me, None)
                if not self._working:
                    self._clear()
                return
            known = self._judging.get(me)
            if known is not None and known.stage._replace(part="") == stage._replace(part=""):
                self._judging[me] = known._replace(stage=stage)
            else:
                self._judging[me] = _Judging(stage, time.monotonic(), _PLAIN[0])
            self._begin()

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
                if self.plain:
                    self._say_plainly(time.monotonic())
                else:
                    self._show(time.monotonic())

    def _show(self, now: float) -> None:
        parts = []
        if self._working:
            listed = [
                f"{title} ({spoken(now - at)}){self._note(step)}"
                for step, (title, at) in self._working.items()
            ]
            parts.append(f"at work: {', '.join(listed)}")
        parts.extend(found.text(now) for found in self._judging.values())
        if not parts:
            self._clear()
            return
        text = f"  {'; '.join(parts)}"[: _width() - 1]
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
        self._shown = True

    def _say_plainly(self, now: float) -> None:
        for thread, found in self._judging.items():
            passed = now - found.since
            if passed < found.due:
                continue
            sys.stderr.write(found.text(now) + "\n")
            sys.stderr.flush()
            due = max(_PLAIN[1], found.due * 2)
            self._judging[thread] = found._replace(due=due)

    def _note(self, step: str) -> str:
        note = self._notes.get(step)
        return f": {note}" if note else ""


def live_line(*, quiet: bool = False) -> LiveLine:
    """Return what says which contract is judged, for as long as this process lives."""
    is_terminal = sys.stderr.isatty()
    return LiveLine(enabled=is_terminal and not quiet, plain=not quiet)


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        return 80
