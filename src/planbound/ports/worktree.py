"""A worktree in which several plans run, but only one at a time works in the files themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Worktree(Protocol):
    """The right to work and judge in the workspace itself, where others may run beside."""

    def take(self, give_up: Callable[[], bool]) -> bool:
        """Wait for the right; return False where `give_up` says so before it is there."""

    def leave(self) -> None:
        """Give the right back. It goes with the process, too."""


class OwnWorktree:
    """A worktree that nobody else runs anything in."""

    def take(self, give_up: Callable[[], bool]) -> bool:  # noqa: ARG002 - nobody is in the way
        """Take the right, at once."""
        return True

    def leave(self) -> None:
        """Give it back."""
