"""What a second run of a contract showed, with a failing test added."""

from __future__ import annotations

from typing import NamedTuple

from planbound.engine.judging.summary import Summary
from planbound.engine.judging.verdict import CanaryRun


class Corroboration(NamedTuple):
    """What the second run showed."""

    canary: CanaryRun = CanaryRun.NONE
    summary: Summary | None = None
    """By the runner's report, where it writes one."""
    counted: int | None = None
    """How many tests passed by that report; None: there is none."""
    missing: tuple[str, ...] = ()
    """Required tests that did not pass."""
    held_out_seen: bool = False
