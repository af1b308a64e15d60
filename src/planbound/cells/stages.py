"""What is judged now, for whoever waits: one line for each contract, the same on every face."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from planbound.cells.cell import Stage
from planbound.source import fitting, visible

_LONGEST = 60
_FIRST, _NEXT = 1.0, 10.0
"""After so many seconds a line is due where it cannot be written over; then ever less often."""


def spoken(seconds: float) -> str:
    """Return a duration as people say it: `6 min 12 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def stage_line(stage: Stage, seconds: float) -> str:
    """Return what is judged, for how long, and what is known: `npm test, 28.0 s, canary red`."""
    place = f" {stage.place}/{stage.total}" if stage.total > 1 else ""
    command = visible(stage.command)
    if fitting(command, _LONGEST) != command:
        command = fitting(command, _LONGEST - 1) + "…"
    part = f", {stage.part}" if stage.part else ""
    colon = ":" if place or stage.doing == "judging" else ""
    return f"{stage.doing}{place}{colon} {command}, {spoken(seconds)}{part}"


class _StageShown(NamedTuple):
    stage: Stage
    since: float
    due: float
    """When it is next said in lines that stay, in seconds since it began."""

    def is_of(self, stage: Stage) -> bool:
        return self.stage._replace(part="") == stage._replace(part="")

    def line(self, now: float) -> str:
        return stage_line(self.stage, now - self.since)


class Stages:
    """The contracts that are judged now, told from any number of threads."""

    def __init__(self) -> None:
        self._shown: dict[int, _StageShown] = {}
        """By the thread that judges."""
        self._lock = threading.Lock()

    def notice(self, stage: Stage | None) -> None:
        """Take notice of what this thread judges, or finds out for another one; None: no more."""
        with self._lock:
            me = threading.get_ident()
            if stage is None:
                self._shown.pop(me, None)
                return
            # What runs beside a contract has a thread of its own.
            known = (each for each, shown in self._shown.items() if shown.is_of(stage))
            whose = me if me in self._shown else next(known, me)
            shown = self._shown.get(whose)
            if shown is not None and shown.is_of(stage):
                self._shown[whose] = shown._replace(stage=stage)
            else:
                self._shown[whose] = _StageShown(stage, time.monotonic(), _FIRST)

    def lines(self) -> list[str]:
        """Return a line for each, in the order of the plan: who began first is chance."""
        now = time.monotonic()
        with self._lock:
            shown = sorted(self._shown.values(), key=lambda each: each.stage.place)
            return [each.line(now) for each in shown]

    def due(self) -> list[str]:
        """Return the lines that are due where they stay."""
        now, found = time.monotonic(), []
        with self._lock:
            for thread, shown in self._shown.items():
                if now - shown.since >= shown.due:
                    found.append(shown.line(now))
                    self._shown[thread] = shown._replace(due=max(_NEXT, shown.due * 2))
        return found
