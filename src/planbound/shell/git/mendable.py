"""What everything that puts back a part of a git directory needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from planbound.errors import GitProblem
from planbound.shell.cell.copy import Copier
from planbound.shell.cell.inside.tree import remove_entry
from planbound.shell.git.directory import TEMPORARY, Seen
from planbound.shell.git.keeping import Record, make_way
from planbound.shell.git.program import Git, Said
from planbound.shell.git.view import make_view

SHOWN = 5
"""So many are named, the rest are counted."""


class Mendable:
    """A git directory after an agent has worked, and the copy of what it was before."""

    def __init__(
        self, record: Record, view: str, *, modules: Iterable[str], moved: Callable[[str], bool]
    ) -> None:
        self.record = record
        self.path = record.path
        self.moved = moved
        """Says whether the harness itself moved or removed something since."""
        self.own = f"{record.own}/" if record.own else ""
        self.now: dict[str, Seen] = {}
        """The small files as they are now."""
        self.destroyed: list[str] = []
        self.mended: list[str] = []
        self.modules = frozenset(modules)
        self.wants_index = False
        """Whether the index belongs to a commit that is not checked out any more."""
        self._known = (tuple(record.destroyed), tuple(record.mended))
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
        destroyed, mended = self._known
        record.destroyed = list(dict.fromkeys([*destroyed, *self.destroyed, *more]))
        record.mended = list(dict.fromkeys([*mended, *self.mended]))
        record.write()

    def with_index(self, index: str, *words: str, input: bytes = b"") -> Said:  # noqa: A002 - as subprocess calls it
        """Run git with another index."""
        return self.run(*words, given=input, index=index)

    def run(self, *words: str, given: bytes = b"", index: str | None = None) -> Said:
        """Run git in no worktree; where there is no git, it says no."""
        more = {"GIT_NO_REPLACE_OBJECTS": "1"}
        if index is not None:
            more["GIT_INDEX_FILE"] = index
        try:
            return self.git.bare(*words, input=given, more=more)
        except GitProblem as problem:
            return Said(128, b"", problem.message)  # then nothing shows that it may be so

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
