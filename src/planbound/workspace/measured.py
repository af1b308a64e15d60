"""The files of a workspace as they are measured: by which rules, and without what is ours.

Whether a tree is the one that was judged is asked before anything is judged: no cell is needed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from planbound.errors import FileProblem
from planbound.plan.slug import is_progress_name
from planbound.workspace.configuration import Configuration
from planbound.workspace.contents import RealTree, Tree
from planbound.workspace.context import Context
from planbound.workspace.entries import differing
from planbound.workspace.manifest import (
    CACHES,
    SUMMARISED,
    Manifest,
    ScanRules,
    with_changes,
)
from planbound.workspace.root import HARNESS
from planbound.workspace.vault import Vault

# -- the tree, and by which rules it is looked at ------------------------------------------------


def own_folders(context: Context) -> tuple[str, str]:
    """Return where the harness writes for this workspace."""
    return context.state.folder, os.path.dirname(context.state.anchor)


def progress_files(root: str) -> list[str]:
    """Return the files in which people read what happens, as the workspace has them.

    The harness adds to them at any time, so they are no part of what a contract is about.
    """
    try:
        names = os.listdir(os.path.join(root, HARNESS))
    except OSError:
        return []
    return sorted(f"{HARNESS}/{name}" for name in names if is_progress_name(name))


def measured_tree(context: Context) -> tuple[RealTree, ScanRules]:
    """Return the workspace's files, and which of its folders are not looked at file by file."""
    tree = RealTree(os.path.realpath(context.root))
    return tree, scan_rules(context.configuration, tree.root, own_folders(context))


def scan_rules(configuration: Configuration, root: str, own: Sequence[str]) -> ScanRules:
    """Return which folders are not looked at file by file."""
    tree = configuration.tree
    within = (os.path.relpath(os.path.realpath(path), root) for path in own)
    # What the harness itself writes, where somebody's home is the workspace.
    caches = (*tree.caches, *(path for path in within if not path.startswith("..")))
    return ScanRules(
        summarised=SUMMARISED,
        summarised_paths=tuple(os.fsencode(path) for path in tree.summarise),
        caches=CACHES,
        cache_paths=tuple(os.fsencode(path) for path in caches),
    )


def rules_beside(rules: ScanRules, before: Manifest | None) -> ScanRules:
    """Return the rules for a tree that is compared with one before the work.

    What was a folder with files of its own does not become a cache by getting its name.
    """
    if before is None:
        return rules
    return rules._replace(not_caches=before.folders())


def kept_manifest(vault: Vault, key: str) -> Manifest | None:
    """Return the manifest of a tree that was frozen, by its key; None where it is not kept."""
    try:
        return vault.manifest(key)
    except ValueError as error:
        raise FileProblem(f"the tree before the work cannot be used: {error}") from error


# -- without the files that the harness itself writes while somebody works -----------------------


_OWN = b".harness/"
_TOPICS = b".harness/topics"


def screened(manifest: Manifest) -> Manifest:
    """Return a manifest without what the harness writes."""
    own = dict.fromkeys(manifest.named(_is_own))
    return with_changes(manifest, own)._replace(looks=manifest.looks)


def is_screened(root: str, path: str) -> bool:
    """Say whether writing a file changes nothing in a tree without what the harness writes."""
    folder, name = os.path.split(path)
    places = (os.path.join(os.path.realpath(folder), name), os.path.realpath(path))
    inside = (os.path.relpath(place, root) for place in places)
    return all(each.startswith("../") or _is_own(os.fsencode(each)) for each in inside)


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
        self._last: tuple[Manifest, Manifest] | None = None
        """The tree as it was, and as it is shown."""

    def manifest(self, rules: ScanRules) -> Manifest:
        """Return what is there now; bounded in time."""
        found = self._tree.manifest(rules._replace(without_own=True))
        shown = self._shown(found)
        self._last = found, shown
        return shown

    def _shown(self, found: Manifest) -> Manifest:
        if self._last is None or found.truncated is not None:
            return screened(found)
        was, shown = self._last
        paths = differing(was.entries, found.entries)
        if paths is None or shown.truncated is not None:
            return screened(found)
        changed = {path: found.entries.get(path) for path in paths if not _is_own(path)}
        shown = with_changes(shown, changed)
        return found._replace(entries=shown.entries, digest=shown.digest)
