"""Whether work is where it belongs: in the plan's own worktree, and in no other one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Place(Protocol):
    """The place that a plan is bound to."""

    @property
    def is_bound(self) -> bool:
        """Return whether the plan has a worktree of its own."""

    @property
    def is_linked(self) -> bool:
        """Return whether it is another worktree than the main one, where plans may be approved."""

    def misplaced(self) -> str | None:
        """Return why the workspace is not the worktree that was recorded; None where it is."""

    def watch(self, covers: Callable[[str], bool]) -> Callable[[], tuple[str, ...]]:
        """Begin to watch the other worktrees; what is returned says what changed in them.

        `covers` says which files, seen from a workspace, are meant.
        """


class AnyPlace:
    """A workspace that nothing is recorded about."""

    is_bound = False

    def __init__(self, *, is_linked: bool = False) -> None:
        self.is_linked = is_linked

    def misplaced(self) -> str | None:
        """Return nothing: it is where it is."""
        return None

    def watch(self, covers: Callable[[str], bool]) -> Callable[[], tuple[str, ...]]:  # noqa: ARG002 - there are no others
        """Watch nothing."""
        return tuple
