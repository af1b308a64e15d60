"""Processes of ours that do not outlive this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Child(Protocol):
    """One of them."""

    def exit_code(self) -> int | None:
        """Return how it ended, a signal as a negative number; None while it goes on."""

    def stop(self) -> None:
        """Ask it to end in peace, so that it can be gone on with."""

    def kill(self) -> None:
        """End it at once, and wait until it has ended."""

    def last_lines(self, most: int) -> Sequence[str]:
        """Return what it printed last."""
