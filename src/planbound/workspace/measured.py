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
from planbound.workspace.manifest import (
    CACHES,
    SUMMARISED,
    EntryType,
    Manifest,
    ScanRules,
    decode,
    manifest_of,
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
    known = before.entries.items()
    folders = frozenset(path for path, entry in known if entry.type is EntryType.DIRECTORY)
    return rules._replace(not_caches=folders)


def kept_manifest(vault: Vault, key: str) -> Manifest | None:
    """Return the manifest of a tree that was frozen, by its key; None where it is not kept."""
    try:
        data = vault.content(bytes.fromhex(key))
        return decode(data) if data is not None else None
    except ValueError as error:
        raise FileProblem(f"the tree before the work cannot be used: {error}") from error


# -- without the files that the harness itself writes while somebody works -----------------------


_OWN = b".harness/"
_TOPICS = b".harness/topics"


def screened(manifest: Manifest, last: Manifest | None = None) -> Manifest:
    """Return a manifest without what the harness writes; `last` is the one before."""
    own = [path for path in manifest.entries if _is_own(path)]
    if not own:
        return manifest
    kept = dict(manifest.entries)
    for path in own:
        del kept[path]
    return manifest_of(
        kept,
        truncated=manifest.truncated,
        tagged=manifest.tagged,
        left_out=manifest.left_out,
        held=manifest.held,
        last=manifest if last is None else last,
    )._replace(looks=manifest.looks)


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
        self._last: Manifest | None = None

    def manifest(self, rules: ScanRules) -> Manifest:
        self._last = screened(self._tree.manifest(rules), self._last)
        return self._last
