"""Files that the harness reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class PlanFile(NamedTuple):
    """A plan's file: its slug, where it is, and how it is shown."""

    slug: str
    path: str
    shown: str


class Files(Protocol):
    """Reading and writing whole files. Every failure is a `FileProblem` with its reason."""

    def read(self, path: str) -> bytes:
        """Return the content; refuse what is not a regular file or too large for a plan."""

    def create(self, path: str, data: bytes) -> None:
        """Write a new file; raise AlreadyExists where anything is at the path."""

    def replace(self, path: str, data: bytes, *, expected: bytes) -> None:
        """Write over a file that still holds `expected`; raise ConcurrentChange otherwise."""


class Workspace(Protocol):
    """The tree that plans are about, and the plans in it."""

    def plans(self) -> Sequence[PlanFile]:
        """Return the plans in `.harness/`, in the order of their names."""

    def find(self, reference: str) -> PlanFile | None:
        """Return the plan that a slug or path means, if its file is there."""

    def marker(self) -> str | None:
        """Return the content of `.harness/active-plan`, None where there is no marker."""

    def planned_path(self, slug: str) -> PlanFile:
        """Return where a plan of that name belongs."""
