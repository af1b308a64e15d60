"""Files that the harness reads and writes."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class PlanFile(NamedTuple):
    """A plan's file: its slug, where it is, and how it is shown."""

    slug: str
    path: str
    shown: str


class Shelf(enum.Enum):
    """Where a plan is kept; the value is the folder below `.harness/`."""

    ACTIVE = ""
    STAGED = "queued-plans"
    ARCHIVE = "archive"


class ConflictCopy(NamedTuple):
    """A copy that a synchroniser or an editor left beside a file."""

    path: str
    shown: str
    original: str
    """The name of the file that it is a copy of."""


class Folders(Protocol):
    """Making folders."""

    def make_folder(self, path: str) -> bool:
        """Make a folder with its parents; return whether it was not there."""


class Files(Protocol):
    """Reading and writing whole files. Every failure is a `FileProblem` with its reason."""

    def read(self, path: str) -> bytes:
        """Return the content; refuse what is not a regular file or too large for a plan."""

    def create(self, path: str, data: bytes) -> None:
        """Write a new file; raise AlreadyExists where anything is at the path."""

    def replace(self, path: str, data: bytes, *, expected: bytes) -> None:
        """Write over a file that still holds `expected`; raise ConcurrentModification otherwise."""

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        """Return what changes with the file, such as its time; None where it cannot be told."""


class Plans(Protocol):
    """The plans of a workspace; in a linked worktree those of the main one."""

    def plans(self, shelf: Shelf = Shelf.ACTIVE) -> Sequence[PlanFile]:
        """Return the plans on a shelf, the unnamed one first; conflict copies are none."""

    def find(self, reference: str) -> PlanFile | None:
        """Return the plan that a slug or path means, if its file is there."""

    def planned_path(self, slug: str, shelf: Shelf = Shelf.ACTIVE) -> PlanFile:
        """Return where a plan of that name belongs."""

    def conflicts(self) -> Sequence[ConflictCopy]:
        """Return the conflict copies on all shelves and beside the marker."""


class Shelves(Protocol):
    """The folders that plans are kept in."""

    def names(self, shelf: Shelf) -> Sequence[str]:
        """Return the names of everything in the folder; none where there is no folder."""

    def place(self, shelf: Shelf, name: str) -> PlanFile:
        """Return the file of that name on a shelf, there or not."""

    def move(self, source: str, target: str) -> None:
        """Give a file its new name, then take the old one; raise AlreadyExists, never replace.

        A move that was cut off between the two is finished by the same call.
        """

    def is_same(self, path: str, other: str) -> bool:
        """Say whether two names are of one file, as a move that was cut off leaves them."""


class Worktree(Protocol):
    """What is there, in the tree that is worked in."""

    def marker(self) -> str | None:
        """Return the content of the worktree's `.harness/active-plan`, None without a marker."""

    def has_harness(self) -> bool:
        """Say whether there is a folder for plans."""

    def has_content(self, file: PlanFile) -> bool:
        """Say whether a file holds more than white space; raise FileProblem if unreadable."""

    def has_artifact(self, pattern: str) -> bool:
        """Say whether a path or glob names something that is there."""


class Workspace(Plans, Shelves, Worktree, Protocol):
    """The tree that plans are about, and the plans in it."""
