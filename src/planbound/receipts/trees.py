"""The trees of a receipt: what was judged last, what the work changed, and git's ids for it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planbound.git.repository import head_commit, object_form, tracked_files, would_ignore
from planbound.journal.record import Record
from planbound.receipts.git_tree import FILE, LINK, PROGRAM, blob_id, tree_id
from planbound.state.plan import PlanState
from planbound.workspace.context import Context
from planbound.workspace.manifest import Entry, EntryType, Manifest, changes, path_text
from planbound.workspace.measured import kept_manifest, measured_tree, screened
from planbound.workspace.root import HARNESS, find_git
from planbound.workspace.vault import Vault

# -- which trees ----------------------------------------------------------------------------------


class JudgedFiles(NamedTuple):
    """The tree that was judged last."""

    digest: str
    """As the journal has it."""
    manifest: Manifest | None
    """None where it is not kept, and the workspace is another one by now."""
    is_now: bool = False
    """Whether the journal knows no tree, and this is the workspace as it is now."""


def judged_files(context: Context, vault: Vault, state: PlanState, last: str | None) -> JudgedFiles:
    """Return the tree at the end; `last` is the digest that a contract was judged on last."""
    digest = state.run.tree or last
    if state.run.tree is not None and state.run.manifest is not None:
        kept = kept_manifest(vault, state.run.manifest)
        if kept is not None:
            return JudgedFiles(state.run.tree, kept)
    tree, rules = measured_tree(context)
    now = tree.manifest(rules)
    if digest is None:
        return JudgedFiles(now.digest, now, is_now=True)
    seen = (now, screened(now))
    found = next((each for each in seen if each.digest == digest), None)
    return JudgedFiles(digest, found)


def first_manifest(vault: Vault, records: Iterable[Record]) -> Manifest | None:
    """Return the tree that the work began with: the first that is still kept."""
    for record in records:
        key = getattr(record.event, "manifest", None)
        if isinstance(key, str) and (kept := kept_manifest(vault, key)) is not None:
            return kept
    return None


# -- git's ids ------------------------------------------------------------------------------------


class GitIds:
    """What git calls contents and trees of this repository; reckoned, git is asked for no tree."""

    def __init__(self, context: Context, vault: Vault) -> None:
        self.root = os.path.realpath(context.root)
        place = find_git(self.root)
        self.form = object_form(self.root) if place is not None else None
        self.folder = "" if place is None or place.inside == "." else place.inside
        self.head = head_commit(self.root) if self.form is not None else None
        self._vault = vault
        self._blobs: dict[bytes, str | None] = {}
        self._kept_out: frozenset[str] | None = None

    def blob(self, path: str, entry: Entry) -> str | None:
        """Return the id of a file's content; None where the content is not there any more."""
        if entry.type is EntryType.LINK:
            return blob_id(entry.content, self.form or "sha1")
        if entry.content not in self._blobs:
            content = self._content(path, entry)
            found = None if content is None else blob_id(content, self.form or "sha1")
            self._blobs[entry.content] = found
        return self._blobs[entry.content]

    def _content(self, path: str, entry: Entry) -> bytes | None:
        kept = self._vault.content(entry.content)
        if kept is not None:
            return kept
        # What is large is not kept; where it is as it was, it is read where it lies.
        try:
            with open(os.path.join(self.root, path), "rb") as file:
                content = file.read()
        except OSError:
            return None
        return content if hashlib.sha256(content).digest() == entry.content else None

    def tree(self, manifest: Manifest) -> tuple[str | None, str | None]:
        """Return the id of a tree without `.harness`, or why there is none."""
        if self.form is None:
            return None, "there is no git repository"
        found: dict[bytes, tuple[str, str]] = {}
        left_out = self.left_out(manifest)
        for path, entry in manifest.entries.items():
            name = path_text(path)
            if name.endswith("/.git"):
                return None, f"`{name}` is a repository in the repository"
            if entry.type is EntryType.SUMMARY and self._has_tracked(name):
                return None, f"`{name}` was not read file by file"
            if not is_of_tree(name, entry) or name in left_out:
                continue
            blob = self.blob(name, entry)
            if blob is None:
                return None, f"the content of `{name}` is not kept"
            found[path] = (_mode(entry), blob)
        return tree_id(found, self.form), None

    def _has_tracked(self, folder: str) -> bool:
        return any(each.startswith(f"{folder}/") for each in self._tracked())

    def _tracked(self) -> frozenset[str]:
        if self._kept_out is None:
            self._kept_out = tracked_files(self.root)
        return self._kept_out

    def left_out(self, manifest: Manifest) -> frozenset[str]:
        """Return what git would not take up."""
        if self.form is None:
            return frozenset()
        tracked = self._tracked()
        names = [
            name
            for path, entry in manifest.entries.items()
            if is_of_tree(name := path_text(path), entry) and name not in tracked
        ]
        return frozenset(would_ignore(self.root, names))


def is_of_tree(path: str, entry: Entry) -> bool:
    """Say whether an entry belongs to the work: a file or a link, neither ours nor git's own."""
    names = path.split("/")
    own = names[0] == HARNESS or ".git" in names
    return not own and entry.type in {EntryType.FILE, EntryType.LINK}


def _mode(entry: Entry) -> str:
    if entry.type is EntryType.LINK:
        return LINK
    return PROGRAM if entry.mode & 0o100 else FILE


# -- what the work changed ------------------------------------------------------------------------


class TouchedFiles(NamedTuple):
    """What is different between two trees, without the harness's own files."""

    subjects: tuple[Mapping[str, object], ...]
    """Each file that is there, by its path with its digests."""
    removed: tuple[str, ...]


def touched_files(before: Manifest, after: Manifest, ids: GitIds) -> TouchedFiles:
    """Return the files that the work changed, but for those that git would not take up."""
    left_out = ids.left_out(before) | ids.left_out(after)
    subjects: list[Mapping[str, object]] = []
    removed: list[str] = []
    for change in changes(before, after):
        if change.path in left_out:
            continue
        if change.after is None:
            if change.before is not None and is_of_tree(change.path, change.before):
                removed.append(change.path)
        elif is_of_tree(change.path, change.after):
            subjects.append(_subject(change.path, change.after, ids))
    return TouchedFiles(tuple(subjects), tuple(removed))


def _subject(path: str, entry: Entry, ids: GitIds) -> Mapping[str, object]:
    link = entry.type is EntryType.LINK
    digests = {"sha256": (hashlib.sha256(entry.content).digest() if link else entry.content).hex()}
    blob = ids.blob(path, entry)
    if blob is not None:
        digests["gitBlob"] = blob
    return {"name": path, "digest": digests}
