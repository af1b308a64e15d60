"""The tree of a run: without the files that the harness itself writes while the run goes on.

Status marks and progress are projections of the journal. A plan's meaning is watched by its digest.
"""

from __future__ import annotations

from planbound.engine.manifest import Manifest, ScanRules, manifest_of
from planbound.ports.tree import Tree

_OWN = b".harness/"
_TOPICS = b".harness/topics"


def screened(manifest: Manifest) -> Manifest:
    """Return a manifest without what the harness writes."""
    kept = {path: entry for path, entry in manifest.entries.items() if not _is_own(path)}
    if len(kept) == len(manifest.entries):
        return manifest
    return manifest_of(
        kept,
        truncated=manifest.truncated,
        tagged=manifest.tagged,
        left_out=manifest.left_out,
    )


def _is_own(path: bytes) -> bool:
    return path.startswith(_OWN) and not (path == _TOPICS or path.startswith(_TOPICS + b"/"))


class ScreenedTree:
    """A tree in which the harness's own files are not seen."""

    def __init__(self, tree: Tree) -> None:
        self.root = tree.root
        self.contents = tree.contents
        self.content = tree.content
        self.put_back = tree.put_back
        self._tree = tree

    def manifest(self, rules: ScanRules) -> Manifest:
        """Return what is there now."""
        return screened(self._tree.manifest(rules))
