"""The workspace as a tree that is frozen, and copies of what was in it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # hooks look at no tree, and it takes its time to load
    from planbound.engine.manifest import Entry, Manifest, ScanRules


class Tree(Protocol):
    """The files of a workspace, read without following links and without trusting times."""

    @property
    def root(self) -> str:
        """Return where it is."""

    def manifest(self, rules: ScanRules) -> Manifest:
        """Return what is there now; bounded in time."""

    def contents(
        self, manifest: Manifest, wanted: Container[bytes] | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield digest and content of files that still are as the manifest says."""

    def content(self, path: str, entry: Entry) -> bytes | None:
        """Return the content of a file that still is as the entry says."""

    def put_back(self, path: bytes, entry: Entry | None, content: bytes | None) -> None:
        """Make a path be as an entry says; None: let nothing be there."""


class Vault(Protocol):
    """Contents by their SHA-256, kept outside the workspace."""

    def missing(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those that are not kept."""

    def keep(self, contents: Iterable[tuple[bytes, bytes]]) -> int:
        """Keep contents; return how many are new."""

    def content(self, sha256: bytes) -> bytes | None:
        """Return a content; None where it was never kept."""
