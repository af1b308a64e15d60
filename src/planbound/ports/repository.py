"""The files of a workspace, as somebody who plans work in it gets to see them."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Listing(NamedTuple):
    """The names of files, seen from the root of the workspace."""

    paths: tuple[str, ...]
    left_out: bool = False
    """Whether there are more."""


class Repository(Protocol):
    """A workspace to look at: nothing in it is changed, and no link leads out of it."""

    def listing(self) -> Listing:
        """Return what is there, without repositories, environments, caches and plans."""

    def read(self, path: str) -> bytes | None:
        """Return the beginning of a file inside the workspace; None where there is no such file."""
