"""What of ours stands in a file that is somebody else's: added and taken away as text."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from planbound.errors import Refused


class Unmergeable(Refused):
    """A file cannot be changed without breaking it."""

    def __init__(self, why: str) -> None:
        super().__init__(why, hint="`planbound install HOST --print` shows what to put in by hand")


class Fragment(Protocol):
    """What of ours belongs into one file."""

    @property
    def shown(self) -> str:
        """What to put into the file by hand."""

    def added(self, text: str | None) -> str:
        """Return the file's text with it; None: there is no file. Raises Unmergeable."""

    def removed(self, text: str) -> str | None:
        """Return the file's text without it; None: nothing is left. Raises Unmergeable."""


class Part(NamedTuple):
    """A file of a host's, and what of ours belongs into it."""

    path: str
    fragment: Fragment


class Whole(NamedTuple):
    """A file that is ours alone."""

    content: str

    @property
    def shown(self) -> str:
        """The whole file."""
        return self.content

    def added(self, text: str | None) -> str:
        """Return our content; refuse to write over somebody else's."""
        if text is not None and text != self.content and not _is_ours(text):
            raise Unmergeable("it is there already, and not ours")
        return self.content

    def removed(self, text: str) -> str | None:
        """Return nothing, unless it was never ours."""
        return None if _is_ours(text) else text


def _is_ours(text: str) -> bool:
    return "\nname: planbound\n" in text
