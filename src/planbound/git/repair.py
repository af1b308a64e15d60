"""Finds what an agent destroyed in a git directory, and puts it back.

What an agent adds is its own: objects, commits on top of a branch, branches, stashes, what it
stages. What was there before it worked stays: every object, every ref (a branch may only move on),
every stash, every line of a reflog, an index. The rules are those of docs/decisions/019.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import re
from collections.abc import Sequence

from planbound.cells.inside.tree import remove_entry
from planbound.errors import GitProblem
from planbound.git import objects as index_file
from planbound.git.backup import HEAD, PLANS, Backup, marks_of, plain_files
from planbound.git.directory import (
    head_of,
    is_passing,
    is_stored,
    is_under_way,
    open_file,
    open_folders,
    pointer_text,
    read_refs,
    resolved,
    seen,
    walk,
)
from planbound.git.objects import Objects
from planbound.git.repair_refs import LOG, SHOWN, RefsRepairer, many, more_of

# -- locks of git whose process is no more: everybody who works next would stop at them ----------


_LOCKS = ("index.lock", "HEAD.lock")
"""Those of one worktree; others may be held by who works in another one."""


def remove_left_locks(record: Backup) -> None:
    """Remove the locks that came since an agent began to work, and that nobody holds any more."""
    folder = f"{record.path}/{record.own}" if record.own else record.path
    left = [path for name in _LOCKS if _is_new(path := f"{folder}/{name}", record.since)]
    tops = [os.path.dirname(path) for path in record.pointers]
    if os.path.basename(record.path) == ".git" and not record.own:
        tops.append(os.path.dirname(record.path))
    if left and tops and not _is_git_at_work(tops):
        for path in left:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _is_new(path: str, since: int) -> bool:
    try:
        return os.lstat(path).st_ctime_ns >= since
    except OSError:
        return False


def _is_git_at_work(tops: Sequence[str]) -> bool:
    """Say whether a git runs in one of these worktrees: somebody's in another terminal."""
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True  # nobody can tell
    for number in numbers:
        try:
            with open(f"/proc/{number}/comm", "rb") as file:
                if not file.read().startswith(b"git"):
                    continue
            current = os.readlink(f"/proc/{number}/cwd")
        except OSError:
            continue
        if any(current == top or current.startswith(f"{top}/") for top in tops):
            return True
    return False


# -- finds what an agent destroyed in a git directory, and puts it back --------------------------


_HIDING = re.compile(r"shallow|commondir|info/grafts|objects/info/alternates")
"""What makes git look elsewhere, or only at a part."""
_DERIVED = re.compile(
    r"info/refs|objects/(?:info/(?:commit-graph|packs)|pack/multi-pack-index).*", re.DOTALL
)
"""What git can make anew from the objects."""
_RUNS_CODE = re.compile(
    r"config|config\.worktree|hooks/.+|info/.+|worktrees/[^/]+/config\.worktree"
)
_LINK = re.compile(r"worktrees/([^/]+)/(?:commondir|gitdir|HEAD|index|locked)")
_ALL = "everything in `.git`"


class Repairer(RefsRepairer):
    """Looks at one git directory after an agent has worked."""

    def repair(self) -> None:
        """Put back everything that was destroyed; what it was is in the record."""
        if self.record.is_plain:
            open_folders(f"{self.path}/{PLANS}", self.record.since)
            self._plain()
            return
        closed = open_folders(self.path, self.record.since)
        remove_left_locks(self.record)
        whole = self._whole()
        stored: dict[str, os.DirEntry[str]] = {}
        for name, entry in walk(self.path, but=self.modules):
            store = self.record.pool if is_stored(name) else self.record.copies
            closed |= open_file(entry, f"{store}/{name}", self.record.since)
            if is_stored(name):
                stored[name] = entry
            elif not is_passing(name) and (state := seen(entry)) is not None:
                self.now[name] = state
        if closed:
            self.mended.append("permissions in `.git`")
            self.note()
        objects = Objects(self.record, stored)
        if objects.are_the_same and self.now == self.record.small and whole:
            return
        self._settings()
        self._objects(objects)
        if any(name.startswith("reftable/") for name in self.record.small):
            self.put_tables()
        else:
            self.put_refs()
            self.put_stashes()
        self.put_logs()
        self._head()
        self._index()
        self._rest()
        self.record.left = marks_of(self.path, self.record.own)
        if self.destroyed:
            self.mended.clear()  # who hears of the one need not hear of the other
        self.note()

    def _plain(self) -> None:
        """Put back files of the harness that are missing."""
        there = {name for name, _ in plain_files(self.path)}
        new = there - self.record.small.keys()
        missing = [
            name
            for name in sorted(self.record.small.keys() - there)
            if not any(self._is_as_kept(name, at=each) for each in new)  # a person archived it
        ]
        if not missing:
            return
        shown = [f"`{name}`" for name in missing]
        self.destroyed += [*shown[:SHOWN], *([more_of(shown, "file")] if shown[SHOWN:] else [])]
        self.note()
        for name in missing:
            self.put_small(name)

    # -- the directory itself ------------------------------------------------------------------

    def _whole(self) -> bool:
        """Let there be a directory; say whether there was one."""
        is_whole = True
        for path, text in self.record.pointers.items():
            if pointer_text(path) != text:
                is_whole = False
                self.destroyed.append(f"`{os.path.basename(path)}` of the worktree")
                self.note()
                _write_pointer(path, text)
        for folder in ("", "/objects", "/refs"):
            path = self.path + folder
            if os.path.isdir(path) and (not os.path.islink(path) or folder):
                continue
            if folder and os.path.islink(f"{self.record.copies}{folder}"):
                continue
            is_whole = False
            if not folder:
                self.destroyed.append(_ALL)
                self.note()
            remove_entry(path)
            os.makedirs(path)
        return is_whole

    def _settings(self) -> None:
        """Put back what says where things are, and what makes git run programs."""
        before = self.record.small
        for name in sorted({*before, *self.now}):
            if before.get(name) == self.now.get(name) or self._is_as_kept(name):
                continue
            if name == "shallow" and name not in self.now and self._leads_everywhere():
                continue  # the rest of the history came
            if _HIDING.fullmatch(name):
                hidden = "" if name in before else "history, by "
                self.destroyed.append(f"{hidden}`.git/{name}`")
            elif name == "config" and name not in self.now:
                if _ALL not in self.destroyed:
                    self.destroyed.append("`.git/config`")
            elif _DERIVED.fullmatch(name):
                if name not in before:
                    continue
            elif _RUNS_CODE.fullmatch(name) and not self.record.is_watched:
                self.mended.append(f"`.git/{name}`")
            else:
                continue
            self.note()
            self.put_small(name)

    def _is_as_kept(self, name: str, at: str | None = None) -> bool:
        kept, path = f"{self.record.copies}/{name}", f"{self.path}/{at or name}"
        if name not in self.record.small or os.path.islink(path) or os.path.islink(kept):
            return False
        try:
            return filecmp.cmp(kept, path, shallow=False)
        except OSError:
            return False

    # -- objects -------------------------------------------------------------------------------

    def _objects(self, objects: Objects) -> None:
        if not objects.are_untouched:
            lost = objects.lost()
            if lost and objects.are_old() and self._leads_everywhere():
                self.mended.append(many(len(lost), "object"))
            elif lost:
                self.destroyed.append(many(len(lost), "object"))
            self.note()
            failed = [] if self.record.is_light else objects.put_back()
            if failed:
                self.destroyed.append(f"{many(len(failed), 'file')} of objects, for good")
        with contextlib.suppress(GitProblem):
            if broken := objects.refuse_broken(self.git):
                self.mended.append(f"{many(broken, 'new object')} that {_were(broken)} broken")

    def _leads_everywhere(self) -> bool:
        return self.run("rev-list", "--objects", "--all", "--reflog", "--quiet").code == 0

    # -- HEAD and the index --------------------------------------------------------------------

    def _head(self) -> None:
        name = f"{self.own}HEAD"
        copies, here = f"{self.record.copies}/{self.own}", f"{self.path}/{self.own}"
        before, after = head_of(copies), head_of(here)
        if before is None or before == after:
            return
        refs, _ = read_refs(self.path)
        base, at = self.record.base.get(HEAD), resolved(after, refs)
        if after is not None and (base is None or (at is not None and self.is_forward(base, at))):
            return
        (self.destroyed if after is None else self.mended).append("HEAD")
        self.note()
        self.put_small(name)
        self.wants_index = True

    def _index(self) -> None:
        name = f"{self.own}index"
        if name not in self.record.small or (
            self.now.get(name) == self.record.small[name] and not self.wants_index
        ):
            return
        path, kept = f"{self.path}/{name}", f"{self.record.copies}/{name}"
        emptied = index_file.count(kept) > 0 and index_file.count(path) == 0
        if not index_file.is_whole(path) or (emptied and self._has_files()):
            self.destroyed.append("the index")
            self.wants_index = True
        if self.wants_index:
            self.note()
            self.put_small(name)
            return
        self._staged(path, kept)
        self._unwatched(path, kept)

    def _unwatched(self, path: str, kept: str) -> None:
        """Let git look at files again that an agent told it to take for unchanged."""
        found = index_file.unwatched(self.with_index, path)
        if found is not None and not found:
            return
        before = index_file.unwatched(self.with_index, kept)
        if found is None and before is not None:
            self.mended.append("the index, which git could not read")
            self.note()
            self.put_small(f"{self.own}index")
        found = (found or set()) - (before or set())
        if not found:
            return
        self.mended.append(f"{many(len(found), 'file')} that git was told not to look at")
        self.note()
        known = index_file.entries(self.with_index, path)
        wanted = {name: known.get(name, []) for name in found}
        # Beside it: an index may be in two parts.
        fresh = f"{path}.planbound"
        if not index_file.put_back(self.with_index, path, wanted, fresh, self.record.no_id):
            remove_entry(fresh)
            self.put_small(f"{self.own}index")

    def _has_files(self) -> bool:
        at = marks_of(self.path, self.record.own).get(HEAD)
        return at is None or bool(self.run("ls-tree", "--name-only", at).text)

    def _staged(self, path: str, kept: str) -> None:
        """Stage again what somebody had staged, and is neither committed nor staged any more."""
        was = marks_of(self.record.copies, self.record.own).get(HEAD)
        is_now = marks_of(self.path, self.record.own).get(HEAD)
        staged = index_file.staged(self.with_index, kept, was)
        if not staged:
            return
        open_still = index_file.staged(self.with_index, kept, is_now)
        there = index_file.staged(self.with_index, path, is_now)
        lost = [name for name, of in staged.items() if name in open_still and name not in there]
        if not lost:
            return
        self.mended.append(many(len(lost), "staged change"))
        self.note()
        known = index_file.entries(self.with_index, kept)
        wanted = {name: known.get(name, []) for name in lost}
        fresh, no_id = f"{self.record.folder}/index", self.record.no_id
        index_file.put_back(self.with_index, path, wanted, fresh, no_id)

    # -- the rest ------------------------------------------------------------------------------

    def _rest(self) -> None:
        """Put back small files that are missing, or that say nothing any more."""
        is_still = resolved(head_of(f"{self.path}/{self.own}"), read_refs(self.path)[0]) == (
            resolved(head_of(f"{self.record.copies}/{self.own}"), read_refs(self.record.copies)[0])
        )
        for name in sorted(self.record.small):
            here = os.path.lexists(f"{self.path}/{name}")
            link = _LINK.fullmatch(name)
            if link is not None and self.moved(f"worktrees/{link[1]}"):
                continue
            if here and not (link is not None and self._is_garbled(name)):
                continue
            if name.startswith(("refs/", "reftable/")) or LOG.fullmatch(name):
                continue
            if name == "packed-refs" or _DERIVED.fullmatch(name):
                continue
            if _RUNS_CODE.fullmatch(name) and self.record.is_watched and not self.destroyed:
                continue  # told by who compares them
            if is_under_way(name) and not is_still:
                continue
            shown = f"the worktree `{link[1]}`" if link is not None else f"`.git/{name}`"
            (self.destroyed if link is not None else self.mended).append(shown)
            self.note()
            self.put_small(name)

    def _is_garbled(self, name: str) -> bool:
        """Say whether a file of a linked worktree is not what git wrote there."""
        path = f"{self.path}/{name}"
        if name.endswith("/index"):
            return not index_file.is_whole(path)
        if name.endswith("/HEAD"):
            return head_of(os.path.dirname(path)) is None
        changed = self.now.get(name) != self.record.small[name]
        return changed and not name.endswith("/locked")


def _write_pointer(path: str, text: str) -> None:
    kind, _, content = text.partition(" ")
    fresh = f"{path}.planbound"
    remove_entry(fresh)
    if kind == "link":
        os.symlink(content, fresh)
    else:
        with open(fresh, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(content)
    if os.path.isdir(path) and not os.path.islink(path):
        remove_entry(path)
    os.replace(fresh, path)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
