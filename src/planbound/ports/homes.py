"""The homes of agents: folders that last as long as a step."""

from __future__ import annotations

from typing import Protocol


class Homes(Protocol):
    """Folders outside the workspace, by name."""

    def of(self, name: str) -> str:
        """Return the path of a home, made where it is not there."""

    def remove(self, name: str) -> None:
        """Remove a home with all that is in it; one that is not there is fine."""
