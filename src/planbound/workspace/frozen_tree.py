"""The workspace as a tree that is frozen."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator

from planbound.engine.manifest import Entry, Manifest, ScanRules
from planbound.workspace.contents import put_back, read_contents
from planbound.workspace.manifest import scan

_SECONDS = 120.0
_MAX_CONTENT = 64 << 20


class RealTree:
    """The files below a folder."""

    def __init__(self, root: str) -> None:
        self._root = root

    @property
    def root(self) -> str:
        """Return where it is."""
        return self._root

    def manifest(self, rules: ScanRules) -> Manifest:
        """Return what is there now; bounded in time."""
        return scan(self._root, rules, deadline=time.monotonic() + _SECONDS)

    def contents(
        self, manifest: Manifest, wanted: Container[bytes] | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield digest and content of files that still are as the manifest says."""
        return read_contents(self._root, manifest, wanted, limit=_MAX_CONTENT)

    def content(self, path: str, entry: Entry) -> bytes | None:
        """Return the content of a file that still is as the entry says."""
        name = path.encode("utf-8", "surrogateescape")
        one = Manifest({name: entry}, digest="")
        return next((content for _, content in self.contents(one)), None)

    def put_back(self, path: bytes, entry: Entry | None, content: bytes | None) -> None:
        """Make a path be as an entry says; None: let nothing be there."""
        put_back(self._root, path, entry, content)
