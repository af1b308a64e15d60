"""Puts back refs, stashes and reflogs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from planbound.cells.copies import Copier
from planbound.cells.inside.tree import remove_entry
from planbound.errors import GitProblem
from planbound.git.backup import HEAD, STASHES, Backup, make_way, stashes
from planbound.git.directory import (
    TEMPORARY,
    Refs,
    SeenFile,
    checked_out,
    head_of,
    linked_worktrees,
    meaning,
    read_refs,
    worktree_of,
)
from planbound.git.program import Git, GitOutput, make_view

# -- what everything that puts back a part of a git directory needs ------------------------------


SHOWN = 5
"""So many are named, the rest are counted."""


class Repairable:
    """A git directory after an agent has worked, and the copy of what it was before."""

    def __init__(
        self, record: Backup, view: str, *, modules: Iterable[str], moved: Callable[[str], bool]
    ) -> None:
        self.record = record
        self.path = record.path
        self.moved = moved
        """Says whether the harness itself moved or removed something since."""
        self.own = f"{record.own}/" if record.own else ""
        self.now: dict[str, SeenFile] = {}
        """The small files as they are now."""
        self.destroyed: list[str] = []
        self.mended: list[str] = []
        self.strayed: list[str] = []
        self.modules = frozenset(modules)
        self.wants_index = False
        """Whether the index belongs to a commit that is not checked out any more."""
        self._known = (tuple(record.destroyed), tuple(record.mended), tuple(record.strayed))
        self._view = view
        self._copier = Copier()

    @cached_property
    def git(self) -> Git:
        """Return git, which sees only what is put back already of what says how it works."""
        make_view(self.path, self._view, to_write=False)
        return Git(self.path, self._view)

    def note(self, more: Sequence[str] = ()) -> None:
        """Write down what is known so far: before it is put back, for who comes after a crash."""
        record = self.record
        destroyed, mended, strayed = self._known
        record.destroyed = list(dict.fromkeys([*destroyed, *self.destroyed, *more]))
        record.mended = list(dict.fromkeys([*mended, *self.mended]))
        record.strayed = list(dict.fromkeys([*strayed, *self.strayed]))
        record.write()

    def with_index(self, index: str, *words: str, input: bytes = b"") -> GitOutput:  # noqa: A002 - as subprocess calls it
        return self.run(*words, given=input, index=index)

    def run(self, *words: str, given: bytes = b"", index: str | None = None) -> GitOutput:
        """Run git in no worktree; where there is no git, it says no."""
        more = {"GIT_NO_REPLACE_OBJECTS": "1"}
        if index is not None:
            more["GIT_INDEX_FILE"] = index
        try:
            return self.git.bare(*words, input=given, more=more)
        except GitProblem as problem:
            return GitOutput(128, b"", problem.message)  # then nothing shows that it may be so

    def put_small(self, name: str) -> None:
        """Let a small file be as it was before, or not be there."""
        kept, path = f"{self.record.copies}/{name}", f"{self.path}/{name}"
        if name not in self.record.small:
            remove_entry(path)
            return
        if not os.path.lexists(kept):
            return  # it could not be read, so there is nothing to put back
        make_way(self.path, name)
        fresh = f"{self.path}/{TEMPORARY}"
        remove_entry(fresh)
        if os.path.islink(kept):
            os.symlink(os.readlink(kept), fresh)
        else:
            self._copier.copy(kept, fresh)
        os.replace(fresh, path)

    def write(self, name: str, data: str | bytes) -> None:
        """Let a file have a content."""
        make_way(self.path, name)
        # At the top: in `refs/` it would be one, if this process were killed now.
        fresh = f"{self.path}/{TEMPORARY}"
        with open(fresh, "wb") as file:
            file.write(os.fsencode(data))
        os.replace(fresh, f"{self.path}/{name}")


def many(count: int, what: str) -> str:
    """Return a number with its noun."""
    plural = f"{what}es" if what.endswith("sh") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"


def more_of(shown: Sequence[str], what: str) -> str:
    """Return how many are not named."""
    return many(len(shown) - SHOWN, f"more {what}")


# -- puts back refs, stashes and reflogs ---------------------------------------------------------


_FREE = ("refs/bisect/", "refs/rewritten/", "refs/worktree/")
"""Refs that belong to a command that is under way."""
LOG = re.compile(r"(?:worktrees/([^/]+)/)?logs/(.+)", re.DOTALL)
_OLD = 30 * 86400


class RefsRepairer(Repairable):
    """Lets refs lead where they led, or further on."""

    # -- refs ----------------------------------------------------------------------------------

    def put_tables(self) -> None:
        """Put back refs that are kept in tables, where git cannot read them any more."""
        if self.run("for-each-ref", "--count=1").code == 0:
            return
        self.destroyed.append("the refs")
        self.note()
        for name in (*self.now, *self.record.small):
            if name.startswith("reftable/"):
                self.put_small(name)

    def put_refs(self) -> None:
        """Put back refs that are gone, broken, or moved elsewhere than on."""
        before, unread = read_refs(self.record.copies)
        after, broken = read_refs(self.path)
        base = self.record.base
        back = {
            name: value
            for name, value in before.items()
            if after.get(name) != value
            and name != "refs/stash"
            and not self._may_move(name, base.get(name), after.get(name), broken, before)
        }
        astray = self._astray(before, after, back)
        gone = [
            name
            for name in {*after, *broken} - before.keys() - unread
            if name.startswith("refs/replace/")
            or name in broken
            or not self._is_intact(after[name], before.values())
        ]
        is_packed = "packed-refs" in self.now or "packed-refs" not in self.record.small
        if not back and not gone and not astray and is_packed:
            return
        self.strayed += sorted(astray)
        shown = [_shown(name, value) for name, value in sorted(back.items())]
        self.destroyed += [*shown[:SHOWN], *([more_of(shown, "ref")] if shown[SHOWN:] else [])]
        self.destroyed += [f"history, by `{name}`" for name in gone if "/replace/" in name][:1]
        self.mended += [f"`{name}`, which led nowhere" for name in gone if "/replace/" not in name]
        self.note()
        if not is_packed:
            self.put_small("packed-refs")
        for name in gone:
            remove_entry(f"{self.path}/{name}")
        for name, value in (back | astray).items():
            self.write(name, f"{value}\n")
        at = (head_of(f"{self.path}/{self.own}") or "").removeprefix("ref: ")
        self.wants_index = at in back or at in astray
        if at in astray:
            self.put_small(f"{self.own}HEAD")  # it was on another branch: nobody had this one

    def _astray(self, before: Refs, after: Refs, back: Refs) -> Refs:
        """Return what refs led to that moved on, and are none of the agent's business."""
        others = self._of_others()
        return {
            name: before[name]
            for name in self.record.fixed
            if name in before
            and name not in back
            and name not in others
            and after.get(name) != before[name]
            and not self.moved(name)
        }

    def _of_others(self) -> set[str]:
        """Return the branches that other worktrees have: who works there commits to them.

        One that came meanwhile gives no right where an agent can have made it: its folder is in
        the agent's own, or in a cell that is gone.
        """
        at_first = set(linked_worktrees(self.record.copies))
        root = os.path.realpath(worktree_of(self.path, self.record.own.rstrip("/")) or self.path)
        kept = {""} | {
            name
            for name in linked_worktrees(self.path)
            if name in at_first or _is_elsewhere(worktree_of(self.path, name), root)
        }
        return checked_out(self.path, but=self.record.own, among=kept)

    def _may_move(
        self, name: str, base: str | None, new: str | None, broken: set[str], before: Refs
    ) -> bool:
        """Say whether a ref may lead elsewhere now, or nowhere."""
        if name.startswith(_FREE) or self.moved(name):
            return True
        if new is None:
            return base is None and name not in broken
        if not self._is_intact(new, before.values()):
            return False
        if base is None or new.startswith("ref: ") or name.startswith("refs/remotes/"):
            return True
        return not name.startswith("refs/tags/") and self.is_forward(base, new)

    def is_forward(self, old: str, new: str) -> bool:
        """Say whether a commit leads back to another one."""
        return old == new or self.run("merge-base", "--is-ancestor", old, new).code == 0

    def _is_intact(self, value: str, known: Iterable[str]) -> bool:
        """Say whether all that a ref leads to is there, as far as it is new."""
        if value.startswith("ref: "):
            return True
        names = [each for each in known if not each.startswith("ref: ")]
        if value in names:
            return True
        lines = "\n".join([value, *(f"^{name}" for name in names)])
        words = ("rev-list", "--objects", "--quiet", "--ignore-missing", "--stdin")
        if self.run("cat-file", "-e", value).code != 0:
            return False
        return self.run(*words, given=f"{lines}\n".encode()).code == 0

    # -- stashes and reflogs -------------------------------------------------------------------

    def put_stashes(self) -> None:
        """Put back stashes, those that the agent made on top."""
        kept, there = stashes(self.record.copies), stashes(self.path)
        mine = self.record.base.get(STASHES, "").split()
        leads = read_refs(self.path)[0].get("refs/stash")
        last = there[-1] if there else None
        if there[: len(mine)] == mine and (leads == last or not mine):
            return
        lost = [each for each in kept if each not in there]
        self.destroyed.append(many(len(lost), "stash") if lost else "`stash`")
        self.note()
        lines = _lines(f"{self.record.copies}/{STASHES}")
        lines += [line for line in _lines(f"{self.path}/{STASHES}") if _id(line) not in kept]
        chained, before = [], self.record.no_id.encode()
        for line in lines:
            chained.append(before + line[len(before) :])
            before = line.split(b" ", 2)[1]
        self.write(STASHES, b"".join(line + b"\n" for line in chained))
        self.write("refs/stash", before + b"\n")

    def put_logs(self) -> None:
        """Put back lines of reflogs, what the agent did below them."""
        refs, _ = read_refs(self.path)
        cut: list[str] = []
        for name, state in self.record.small.items():
            found = LOG.fullmatch(name)
            if found is None or name == STASHES or self.now.get(name) == state:
                continue
            of = found[2]
            if name not in self.now and of != HEAD and of not in refs:
                continue  # gone with its ref, which nobody misses
            if found[1] and self.moved(f"worktrees/{found[1]}"):
                continue
            before = _lines(f"{self.record.copies}/{name}")
            after = _lines(f"{self.path}/{name}")
            if after[: len(before)] == before:
                continue
            there = set(after)
            lost = [line for line in before if line not in there]
            if lost and all(map(_is_old, lost)):
                self.mended.append("old lines of a reflog")
            else:
                cut.append(f"the reflog of `{of.removeprefix('refs/heads/')}`")
            self.note(cut)
            known = set(before)
            lines = [*before, *(line for line in after if line not in known)]
            self.write(name, b"".join(line + b"\n" for line in lines))
        self.destroyed += cut if len(cut) < 2 else [f"{len(cut)} reflogs"]


def _lines(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _id(line: bytes) -> str:
    words = line.split(b" ", 2)
    return words[1].decode("ascii", "replace") if len(words) == 3 else ""


def _is_old(line: bytes) -> bool:
    """Say whether a line of a reflog is so old that git's own housekeeping may take it."""
    words = line.partition(b"\t")[0].rsplit(b" ", 2)
    return len(words) == 3 and words[1].isdigit() and int(words[1]) < time.time() - _OLD


def _shown(name: str, value: str) -> str:
    for prefix in ("refs/heads/", "refs/tags/", "refs/remotes/"):
        if name.startswith(prefix):
            name = name.removeprefix(prefix)
            break
    return f"`{name}`" if meaning(value) is None else f"`{name}` at {value[:10]}"


def _is_elsewhere(place: str | None, root: str) -> bool:
    """Say whether a worktree is there, and not in the agent's own."""
    if place is None or not os.path.isdir(place):
        return False
    real = os.path.realpath(place)
    return real != root and not real.startswith(f"{root}/")
