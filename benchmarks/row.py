"""What a row of the performance page says: a number, what stands beside it, and its goal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.measure import FloorGoal, outcome

FLOOR = "python -c pass"


class Goal(NamedTuple):
    """The most that a row should have, and why it has more where it does."""

    most: float
    told: str
    reason: str


class Row(NamedTuple):
    """One line of a table."""

    name: str
    value: float
    note: str = ""
    goal: Goal | None = None
    held: float | None = None
    """What the goal is about, where that is not the value."""
    unit: str = "s"
    short: str = ""
    """What it is called in the README, which shows only some."""
    spare: bool = False
    """Whether the README shows it only in place of another that is not measured."""

    @property
    def shown(self) -> str:
        """The value, as people read it."""
        if self.unit != "s":
            number = f"{self.value:.2f}" if self.unit == "x" else f"{self.value:.0f}"
            return f"{number} {self.unit}"
        return f"{self.value:.2f} s" if self.value >= 1 else f"{self.value * 1000:.1f} ms"

    @property
    def outcome(self) -> str:
        """The goal, and whether it is met; empty where there is none."""
        if self.goal is None:
            return ""
        said = outcome(self.value if self.held is None else self.held, self.goal.most)
        because = f": {self.goal.reason}" if said == "missed" else ""
        return f"{self.goal.told}, {said}{because}"


class Measured:
    """What one benchmark measured; what it did not is no number."""

    def __init__(self, found: Mapping[str, float]) -> None:
        self._found = found

    def __getitem__(self, name: str) -> float:
        """Return a number, or the one that is none."""
        try:
            return self._found[name]
        except KeyError:
            return math.nan


def ratio(value: float, floor: float, of: str, digits: int = 1) -> str:
    """Say how many times something else it is; nothing where that was not measured."""
    return "" if math.isnan(value / floor) else f"{value / floor:.{digits}f} x {of}"


def adds(value: float, plain: float, to: str, digits: int = 0) -> str:
    """Say how many milliseconds something takes over the bare way; nothing where unmeasured."""
    added = (value - plain) * 1000
    return "" if math.isnan(added) else f"adds {added:.{digits}f} ms to {to}"


def joined(*notes: str) -> str:
    """Return what is said, without what is empty."""
    return ", ".join(note for note in notes if note)


def in_ms(seconds: float, reason: str) -> Goal:
    """Return a goal in milliseconds."""
    return Goal(seconds, f"{seconds * 1000:g} ms", reason)


def of_floor(goal: FloorGoal, reason: str) -> Goal:
    """Return a goal that is so many times the floor."""
    told = f"{goal.times} x `{FLOOR}` ({goal.seconds * 1000:g} ms where that takes 11)"
    return Goal(goal.times, told, reason)
