"""The files around a plan's worktree that are neither git's nor the plan's."""

from __future__ import annotations

from typing import Protocol


class Slots(Protocol):
    """Marker, pointer, and what a checkout does not bring. A failure is a `FileProblem`."""

    def mark(self, workspace: str, slug: str) -> None:
        """Write the marker of a workspace, which names its plan; raise where another is named."""

    def unmark(self, workspace: str, slug: str) -> None:
        """Take the marker away, if it names this plan; and its folder, if nothing else is in it."""

    def point(self, slug: str, path: str | None) -> None:
        """Write on the main side where a plan's worktree is; None takes that away."""

    def copy(self, name: str, workspace: str) -> bool:
        """Copy a file or folder of the main workspace; return whether there was one to copy.

        Nothing is copied over anything.
        """

    def marker(self, workspace: str) -> str | None:
        """Return the plan that the marker of a workspace names; None where there is no marker."""

    def is_same(self, name: str, workspace: str) -> bool | None:
        """Say whether a file is what the main workspace has; None where that has none."""

    def discard(self, name: str, workspace: str) -> None:
        """Take a copy away that the main workspace has, with the folders that are empty then."""
