"""Copies of a workspace, for steps that run side by side."""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol


class Copies(Protocol):
    """Whole copies of folders, kept in one place that nobody else writes to."""

    def make(self, source: str, name: str) -> str:
        """Copy a folder with everything that is in it; return where the copy is.

        It is there as a whole or not at all. Raise `AlreadyExists` where there is one of that
        name, and `FileProblem` where it cannot be made.
        """

    def find(self, name: str) -> str | None:
        """Return where the copy of that name is; None where there is none."""

    def remove(self, path: str) -> None:
        """Remove a copy; one that is not there is fine."""

    def sweep(self, keep: Container[str]) -> list[str]:
        """Remove every copy whose path is not to be kept, and what a crash left half-made.

        Return the paths of what is gone.
        """
