"""Who of a run is in the workspace itself, so that other plans of the worktree keep out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planbound.ports.worktree import Worktree


class Occupancy:
    """Takes the right to the workspace with the first who needs it, and leaves with the last."""

    def __init__(self, worktree: Worktree, *, is_shared: bool) -> None:
        self._worktree = worktree
        self._is_shared = is_shared
        """Whether another plan can run beside this one at all."""
        self._inside = 0

    def enter(self, give_up: Callable[[], bool] = lambda: False) -> bool:
        """Say whether the workspace may be used now; where it may, somebody has to leave it."""
        if self._is_shared and not self._inside and not self._worktree.take(give_up):
            return False
        self._inside += 1
        return True

    def leave(self) -> None:
        """Be done with it."""
        self._inside -= 1
        if self._is_shared and not self._inside:
            self._worktree.leave()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Use the workspace for a moment."""
        self.enter()
        try:
            yield
        finally:
            self.leave()
