"""The files that a receipt is about, laid out for judging it again.

They lie in a folder for the time being, in a repository of their own: the clone is only read. What
git does not have is taken from the clone as it is installed there: environments by their place,
`node_modules` as a copy.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.cells.copies import copy_tree
from planbound.cells.inside.tree import remove_entry
from planbound.cells.scratch import held, is_abandoned, mark
from planbound.errors import FileProblem, Refused
from planbound.git.checkout import LaidTree, lay_tree, tree_without
from planbound.git.place import git_place
from planbound.git.repository import Repository, tracked_files
from planbound.receipts.predicate import ItemJudge
from planbound.workspace.contents import RealTree, put_back
from planbound.workspace.context import Context
from planbound.workspace.environment import made_folders
from planbound.workspace.manifest import (
    Entry,
    EntryType,
    Manifest,
    ScanRules,
    manifest_of,
)
from planbound.workspace.root import HARNESS, GitPlace

_MOST_BEFORE = 20
_MOST_JUDGE_BYTES = 64 << 20
_PROGRAM, _FILE = 0o755, 0o644
_MODULES = "node_modules"
_ROOM = "planbound-replay-"


class FoundTree(NamedTuple):
    """A tree of the clone that can be judged."""

    tree: str
    """Of the whole repository, where a commit has it; else of the workspace."""
    folder: str
    """The workspace in it; empty: all of it."""
    own: str
    """The id of the workspace, without `.harness`."""
    commit: str | None


class LaidJudge(NamedTuple):
    """A judge of the receipt, and where its content was found."""

    judge: ItemJudge
    content: bytes | None
    """None: nowhere."""
    there: bool
    """Whether the tree has this very file."""


class ReplayClone:
    """The repository of the person who judges again; nothing is written into it."""

    def __init__(self, context: Context, place: GitPlace) -> None:
        self.context = context
        self.place = place
        view = os.path.join(context.state.folder, "git-read")
        self.repository = Repository(place.common, place.main, view, to_write=False)

    def named(self, revision: str, folder: str) -> FoundTree | None:
        """Return the tree of a revision; None where it names none."""
        tree = self.repository.tree_at(self.place.top, revision)
        if tree is None:
            return None
        own = self._workspace(tree, folder)
        commit = self.repository.commit_at(self.place.top, revision)
        return None if own is None else FoundTree(tree, folder, own, commit)

    def recorded(
        self, own: str | None, folder: str, hints: Iterable[str | None]
    ) -> FoundTree | None:
        """Return the tree with this id, of a commit that has it; None where it is not here."""
        if own is None:
            return None
        for hint in hints:
            found = None if hint is None else self.named(hint, folder)
            if found is not None and found.own == own:
                return found
        tree = self.repository.tree_at(self.place.top, own)
        return None if tree is None else FoundTree(tree, "", own, None)

    def before(self, commit: str | None) -> list[str]:
        """Return some commits before one: a receipt may have been made after the commit."""
        top = self.place.top
        known = None if commit is None else self.repository.commit_at(top, commit)
        return [] if known is None else self.repository.ancestors(top, known, _MOST_BEFORE)

    def _workspace(self, tree: str, folder: str) -> str | None:
        for name in folder.split("/") if folder else ():
            entry = next(
                (each for each in self.repository.entries(tree) if each.name == name), None
            )
            if entry is None or entry.mode != "040000":
                return None
            tree = entry.id
        return tree_without(self.repository, tree, HARNESS)

    def content(self, judge: ItemJudge) -> bytes | None:
        """Return a judge as the receipt has it: from git's objects, or from the files here."""
        if judge.git_blob is not None:
            found = self.repository.blob(judge.git_blob, _MOST_JUDGE_BYTES)
            if found is not None and _is_it(found, judge):
                return found
        found = _read(self.context.root, judge.path)
        return found if found is not None and _is_it(found, judge) else None


def replay_clone(context: Context) -> ReplayClone:
    """Return the repository around the workspace; refuse where there is none."""
    return ReplayClone(context, git_place(context))


class ReplayTree:
    """A tree that is laid out, and over which judges are laid."""

    def __init__(self, clone: ReplayClone, found: FoundTree, path: str, base: str | None) -> None:
        self._clone = clone
        self.found = found
        self.laid: LaidTree = lay_tree(
            clone.repository, found.tree, path, commit=found.commit, base=base
        )
        self.workspace = os.path.normpath(os.path.join(path, found.folder))
        self.copied = tuple(self._furnish())

    def _furnish(self) -> Iterator[str]:
        """Bring in the packages that the clone has installed and git ignores; yield which."""
        root = self._clone.context.root
        tracked = tracked_files(root)
        for name in made_folders(root, tracked):
            source, target = os.path.join(root, name), os.path.join(self.workspace, name)
            if os.path.basename(name) != _MODULES or os.path.isabs(name):
                continue
            if os.path.islink(source) or os.path.lexists(target):
                continue
            if os.path.isdir(os.path.dirname(target)) and not _has_links(self.workspace, name):
                try:
                    copy_tree(source, target, whole=True, hidden=frozenset())
                except OSError as error:
                    raise FileProblem(f"cannot copy `{source}`: {error.strerror}") from error
                yield name

    def judges(self, wanted: Sequence[ItemJudge]) -> list[LaidJudge]:
        """Return where the content of each judge is, in this order."""
        return [self._judge(judge) for judge in wanted]

    def with_files(self, more: Mapping[str, ItemJudge]) -> Manifest:
        """Return what is there, and what a receipt knows that may be gone."""
        entries = dict(RealTree(self.workspace).manifest(ScanRules()).entries)
        for path in more:
            name = path.encode("utf-8", "surrogateescape")
            entries.setdefault(name, Entry(EntryType.FILE, _FILE, 0, b""))
        return manifest_of(entries)

    def read(self, path: str) -> bytes | None:
        """Return a file that is there."""
        return _read(self.workspace, path)

    def _judge(self, judge: ItemJudge) -> LaidJudge:
        here = _read(self.workspace, judge.path)
        if here is not None and _is_it(here, judge):
            return LaidJudge(judge, here, there=True)
        return LaidJudge(judge, self._clone.content(judge), there=False)

    @contextlib.contextmanager
    def with_judges(self, judges: Mapping[str, bytes]) -> Iterator[None]:
        """Lay judges over the tree, as long as it is judged by them; no link is followed."""
        before: dict[str, tuple[Entry | None, bytes | None]] = {}
        try:
            for path, content in judges.items():
                before[path] = _entry(self.workspace, path)
                self._put(path, _file_entry(content, before[path][0]), content)
            yield
        finally:
            for path, (entry, old) in before.items():
                self._put(path, entry, old)

    def _put(self, path: str, entry: Entry | None, content: bytes | None) -> None:
        name = path.encode("utf-8", "surrogateescape")
        if name == b".git" or name.startswith(b".git/"):
            raise FileProblem(f"`{path}` is git's own, and no judge")
        put_back(self.workspace, name, entry, content)


@contextlib.contextmanager
def replay_room() -> Iterator[str]:
    """Yield an empty folder, gone at the end; what a killed process left goes with the next one.

    Not in the state home: no cell shows that, and a contract may need what lies around a workspace
    that is a part of its repository.
    """
    parent = os.path.realpath(tempfile.gettempdir())
    _sweep(parent)
    try:
        room = tempfile.mkdtemp(prefix=f"{_ROOM}{mark().replace('.', '-')}-", dir=parent)
    except OSError as error:
        raise FileProblem(f"no folder can be made in `{parent}`: {error.strerror}") from error
    try:
        with held(room):
            yield room
    finally:
        with contextlib.suppress(OSError):
            remove_entry(room)


def _sweep(parent: str) -> None:
    for name in os.listdir(parent):
        owner = ".".join(name.removeprefix(_ROOM).split("-")[:2])
        path = os.path.join(parent, name)
        with contextlib.suppress(OSError):
            mine = name.startswith(_ROOM) and os.lstat(path).st_uid == os.getuid()
            if mine and is_abandoned(path, owner):
                remove_entry(path)


def refuse_missing(own: str | None, why: str | None) -> Refused:
    """Return that the clone does not have the tree of a receipt."""
    if own is None:
        reason = f": {why}" if why else ""
        return Refused(
            f"the receipt names no tree of git{reason}",
            hint="say which one to judge: `--tree REV`",
        )
    return Refused(
        f"no such tree: this repository does not have {own[:12]}, the tree of the receipt",
        hint="fetch it; after a rebase, an amendment or in another repository there is another"
        " one: `--tree REV` judges that by the judges of the receipt",
    )


# -- files ---------------------------------------------------------------------------------------


def _is_it(content: bytes, judge: ItemJudge) -> bool:
    return hashlib.sha256(content).hexdigest() == judge.sha256


def _has_links(root: str, name: str) -> bool:
    folder = root
    for part in name.split("/")[:-1]:
        folder = os.path.join(folder, part)
        if os.path.islink(folder):
            return True
    return False


def _read(root: str, path: str) -> bytes | None:
    """Return a file below a root; None where there is none, or a link is on the way."""
    entry, content = _entry(root, path)
    return content if entry is not None and entry.type is EntryType.FILE else None


def _entry(root: str, path: str) -> tuple[Entry | None, bytes | None]:
    """Return what is at a path, with its content, to be put back; None: nothing."""
    full = os.path.join(root, path)
    parts = path.split("/")
    if path.startswith("/") or any(part in {"", ".", ".."} for part in parts):
        return None, None
    if _has_links(root, path):
        return None, None
    try:
        status = os.lstat(full)
        if os.path.islink(full):
            target = os.fsencode(os.readlink(full))
            return Entry(EntryType.LINK, 0o777, 0, target), None
        if not os.path.isfile(full) or status.st_size > _MOST_JUDGE_BYTES:
            return None, None
        with open(full, "rb") as file:
            content = file.read(_MOST_JUDGE_BYTES + 1)
    except (OSError, ValueError):
        return None, None
    entry = _file_entry(content, None)
    return entry._replace(mode=status.st_mode & 0o7777), content


def _file_entry(content: bytes, like: Entry | None) -> Entry:
    if like is not None and like.type is EntryType.FILE:
        mode = like.mode
    else:  # a receipt does not say it
        mode = _PROGRAM if content.startswith(b"#!") else _FILE
    return Entry(EntryType.FILE, mode, len(content), hashlib.sha256(content).digest())
