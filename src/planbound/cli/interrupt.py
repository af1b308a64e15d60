"""Ctrl-C, for whatever works until it is told to end.

In a file of its own, because whoever starts runs or merges them loads nothing of a run for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Protocol

from planbound.errors import INTERRUPTED


class Interruptible(Protocol):
    """What works until it is told to end."""

    def stop(self, reason: str) -> None:
        """Ask it to end."""


@contextlib.contextmanager
def signals(work: Interruptible) -> Iterator[None]:
    """Let the first signal end the work in peace, and the second one at once."""
    seen: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)
        os.write(2, b"\nstopping; once more stops at once\n")
        work.stop(INTERRUPTED)

    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in wanted}
    for number in wanted:
        # Whoever starts us with a signal ignored, as `nohup` does, wants it to stay so.
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
