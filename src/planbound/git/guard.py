"""Keeps repositories from being lost to an agent: a copy before, a look afterwards."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from planbound.cells.inside.tree import remove_entry
from planbound.errors import BindingError, FileProblem
from planbound.git import objects as index_file
from planbound.git.backup import (
    Backup,
    Level,
    is_running,
    keep,
    process_name,
    short,
)
from planbound.git.directory import (
    GitFolder,
    checked_out,
    git_folders,
    modules_of,
    open_folder,
    pointer_text,
)
from planbound.git.repair import Repairer
from planbound.git.repository import MOVES
from planbound.workspace.context import Context
from planbound.workspace.manifest import CACHES, SUMMARISED
from planbound.workspace.root import plans_root

_CLOSED = frozenset(os.fsdecode(name) for name in (*CACHES, *SUMMARISED))
_OPEN = "kept-"
_KEPT_REFS = ("refs/heads/", "refs/notes/")
"""Tags do not move at all, and remotes are fetched."""


class Damage(NamedTuple):
    """What an agent did to the repository, all of it put back."""

    destroyed: tuple[str, ...] = ()
    """What was lost: commits, refs, stashes, reflogs, the index."""
    mended: tuple[str, ...] = ()
    """What was changed and may not be, with nothing lost."""
    strayed: tuple[str, ...] = ()
    """Refs that are out of the agent's scope and moved on, seen from the workspace."""


MayMove = Callable[[str], bool]
"""Says whether an agent may let a ref lead on, by its path as `.git/refs/heads/main`."""


class NoGuard:
    """For a workspace without a repository."""

    def keep(  # as the other has it
        self,
        root: str,  # noqa: ARG002
        nested: Iterable[str] | None,  # noqa: ARG002
        run: str,  # noqa: ARG002
        may_move: MayMove | None = None,  # noqa: ARG002
    ) -> tuple[str, ...]:
        return ()

    def look(self, root: str) -> Damage:  # noqa: ARG002 - as the other has it
        return Damage()

    def settle(self, root: str, *, ended: bool = True) -> None:
        pass

    def unstage(self, root: str, paths: Sequence[str]) -> None:
        pass


class GitGuard:
    """For a workspace in a repository: a copy is kept beside it while an agent works."""

    def __init__(self, folder: str, home: str, plans: str, level: Level, moves: str) -> None:
        self._folder = folder
        self._home = os.path.realpath(home)
        self._plans = os.path.realpath(plans)
        self._level = level
        self._moves = moves
        """A file in which the harness notes what it moves itself."""
        self._lock = threading.RLock()
        self._at_work: dict[str, int] = {}
        """By workspace how many agents work in it at once: without a cell they may be several."""
        self._sealed: dict[str, tuple[str, ...]] = {}

    def keep(
        self,
        root: str,
        nested: Iterable[str] | None,
        run: str,
        may_move: MayMove | None = None,
    ) -> tuple[str, ...]:
        """Keep a copy of every repository that an agent in a workspace can write to.

        `nested` are folders of it with repositories of their own; None: they are looked for.
        `may_move` is asked about branches that no worktree has checked out; None: all may move on.
        Return which files of the workspace the agent's cell must not let it write.
        """
        root = os.path.realpath(root)
        with self._lock:
            others = self._at_work.get(root, 0)
            records = self._records(root) if others else []
            if not records or not all(record.is_open for record in records):
                self._sealed[root] = self._kept(root, nested, run, may_move)
            # Otherwise what was kept before the first of them stands for all.
            self._at_work[root] = others + 1
            return self._sealed[root]

    def _kept(
        self, root: str, nested: Iterable[str] | None, run: str, may_move: MayMove | None
    ) -> tuple[str, ...]:
        inner = list(_nested(root)) if nested is None else list(nested)
        sealed: list[str] = []
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with self._held():
                for found in self._found(root, inner):
                    sealed += self._keep(root, found, run, may_move)
                if not self._level.mounts:
                    self._keep_own(root)
        except OSError as error:
            what = str(error.filename or self._folder)[-200:]
            raise FileProblem(
                f"no copy of the repository can be kept: {what}: {error.strerror}",
                hint="nothing was started: an agent could have destroyed it",
            ) from error
        return tuple(os.path.relpath(path, root) for path in sealed)

    def look(self, root: str) -> Damage:
        """Put back what was destroyed since the copy was made; say what.

        Who asks again is told again, until it is settled. Once nobody else is at work there, what
        happens to the repository is nobody's concern any more.
        """
        with self._lock:
            alone = self._at_work.get(os.path.realpath(root), 0) <= 1
            if not self._records(root):
                return self._look(root, last=alone)
            # Two that put back the same file would get in each other's way.
            with self._held():
                return self._look(root, last=alone)

    def _look(self, root: str, *, last: bool) -> Damage:
        destroyed: list[str] = []
        mended: list[str] = []
        strayed: list[str] = []
        records = self._records(root)
        # Nothing can be put back into a folder that is closed.
        since = min((record.since for record in records), default=0)
        if open_folder(os.path.realpath(root), since):
            mended.append("permissions of the workspace")
        for record in records:
            if record.is_open:
                record.by = process_name()
                self._mend(record, last=last)
            destroyed += record.destroyed
            mended += record.mended
            strayed += [_seen_from(root, record, name) for name in record.strayed]
        found = (destroyed, mended, strayed)
        return Damage(*(tuple(dict.fromkeys(each)) for each in found))

    def settle(self, root: str, *, ended: bool = True) -> None:
        """Forget what was found: the journal has it, or no agent was there.

        `ended`: an agent for which something was kept is no longer at work.
        """
        place = os.path.realpath(root)
        with self._lock:
            left = max(0, self._at_work.get(place, 0) - ended)
            self._at_work[place] = left
            for record in self._records(root):
                if place != self._home and not left:
                    remove_entry(record.folder)  # a copy of the workspace is gone soon
                elif record.is_open or record.destroyed or record.mended or record.strayed:
                    record.is_open = record.is_open and left > 0
                    record.destroyed, record.mended, record.strayed = [], [], []
                    record.write()

    def heal(self) -> None:
        """Put back what agents destroyed whose runners are no more; who looks is told."""
        if not any(map(_is_left, self._records(None))):
            return
        with self._held():
            # Read again: whoever was here first has healed it, and may be at work by now.
            for record in filter(_is_left, self._records(None)):
                top = record.path if record.is_plain else os.path.dirname(record.path)
                open_folder(top, record.since)
                self._mend(record)

    def unstage(self, root: str, paths: Sequence[str]) -> None:
        """Let the index say of paths of the workspace what it said when the copy was made."""
        with self._lock:
            self._unstage(os.path.realpath(root), paths)

    def _unstage(self, root: str, paths: Sequence[str]) -> None:
        for record in self._records(root):
            top = _worktree(root, record)
            if top is None:
                continue
            repairer = self._repairer(record)
            name = f"{record.own}/index" if record.own else "index"
            index, kept = f"{record.path}/{name}", f"{record.copies}/{name}"
            inside = [os.path.relpath(os.path.join(root, path), top) for path in paths]
            before = index_file.entries(repairer.with_index, kept) if name in record.small else {}
            now = index_file.entries(repairer.with_index, index)
            wanted = {
                path: before.get(path, [])
                for path in inside
                if before.get(path, []) != now.get(path, [])
            }
            if wanted:
                fresh = f"{record.folder}/index"
                index_file.put_back(repairer.with_index, index, wanted, fresh, record.no_id)

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Let nobody else begin or heal meanwhile, in whatever process."""
        with open(f"{self._folder}.lock", "ab") as file:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    # -- parts ---------------------------------------------------------------------------------

    def _found(self, root: str, nested: list[str]) -> Iterator[GitFolder]:
        level = self._level
        places = git_folders(root, nested, walled=level.walls or root != self._home)
        if root != self._home and not level.walls:
            # It works in a copy, and nothing keeps it from the original.
            places += git_folders(self._home, (), walled=False)
        for found in places:
            yield found
            for module in modules_of(found.path):
                yield GitFolder(module)

    def _keep(self, root: str, found: GitFolder, run: str, may_move: MayMove | None) -> list[str]:
        record = Backup(f"{self._folder}/{_OPEN}{short(root)}-{short(found.path)}")
        record.load()
        if record.is_open:
            self._mend(record)
        if record.run != run:
            record.base, record.left, record.run = {}, {}, run
        record.path, record.own = found.path, found.own
        record.pointers = {path: pointer_text(path) for path in found.pointers}
        # Others look at the configuration and the hooks of the workspace's own `.git`.
        record.is_watched = found.path == f"{root}/.git"
        record.is_light = root != self._home and found.path.startswith(f"{root}/")
        sealed = keep(record, self._level, modules_of(found.path))
        record.fixed = [] if may_move is None else list(_fixed(root, record, may_move))
        record.write()
        inside = found.path.startswith(f"{root}/")
        return [f"{found.path}/{name}" for name in sealed] if inside else []

    def _keep_own(self, root: str) -> None:
        """Keep the harness's own files, where nothing else keeps an agent from them."""
        for place in dict.fromkeys((self._home, self._plans)):
            record = Backup(f"{self._folder}/{_OPEN}{short(root)}-{short(place)}-own")
            record.load()
            if record.is_open:
                self._mend(record)
            record.path, record.is_plain = place, True
            keep(record, self._level, ())
            record.write()

    def _records(self, root: str | None) -> list[Backup]:
        start = _OPEN if root is None else f"{_OPEN}{short(os.path.realpath(root))}-"
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return []
        found = []
        for name in names:
            record = Backup(f"{self._folder}/{name}")
            if name.startswith(start) and record.load():
                found.append(record)
        return found

    def _mend(self, record: Backup, *, last: bool = True) -> None:
        """Put back; afterwards what anybody does is not an agent's doing, if it was the last."""
        try:
            self._repairer(record).repair()
            record.is_open = not last
            record.write()
        except OSError as error:
            what = str(error.filename or record.path)[-200:]
            raise FileProblem(
                f"the repository `{record.path}` cannot be put back: {what}: {error.strerror}",
                hint=f"the harness's copy is in `{record.pool}` and `{record.copies}`",
            ) from error

    def _repairer(self, record: Backup) -> Repairer:
        moved = self._moved_since(record.since)
        return Repairer(
            record,
            f"{self._folder}/view-{short(record.path)}",
            modules=modules_of(record.path),
            moved=lambda name: name in moved,
        )

    def _moved_since(self, since: int) -> set[str]:
        moved = set()
        with contextlib.suppress(OSError), open(self._moves, encoding="utf-8") as file:
            for line in file:
                when, _, name = line.rstrip("\n").partition("\t")
                if when.isdigit() and int(when) >= since:
                    moved.add(name)
        return moved


Guard = GitGuard | NoGuard
"""Keeps repositories from being lost to an agent."""


def idle_copies(folder: str) -> list[str]:
    """Return what is kept of repositories while nobody works: the next run makes it anew."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    idle, pools = [], set()
    for name in names:
        record = Backup(f"{folder}/{name}")
        if name.startswith(_OPEN) and record.load() and (record.is_open or record.destroyed):
            pools |= {record.folder, record.pool}
        idle.append(record.folder)
    return [path for path in idle if path not in pools]


def _fixed(root: str, record: Backup, may_move: MayMove) -> Iterator[str]:
    """Yield the refs that an agent may not move: no worktree has them, and nobody allows it.

    Who has a branch checked out commits to it, in another terminal as well.
    """
    there = checked_out(record.copies)
    for name in record.base:
        is_own = name in there or not name.startswith(_KEPT_REFS)
        if not is_own and not may_move(_seen_from(root, record, name)):
            yield name


def _seen_from(root: str, record: Backup, name: str) -> str:
    return os.path.relpath(f"{record.path}/{name}", os.path.realpath(root))


def _is_left(record: Backup) -> bool:
    """Say whether a runner was killed before it could look at what its agent did."""
    return record.is_open and not is_running(record.by)


def _worktree(root: str, record: Backup) -> str | None:
    """Return the top of the worktree whose index a record is about; None where it is another's."""
    folder = root
    while True:
        path = f"{folder}/.git"
        if os.path.realpath(path) == record.path or path in record.pointers:
            return folder
        if folder == (folder := os.path.dirname(folder)):
            return None


def _nested(root: str) -> Iterator[str]:
    """Yield the folders below a workspace that are repositories of their own."""
    pending = [""]
    while pending:
        below = pending.pop()
        try:
            with os.scandir(os.path.join(root, below)) as listed:
                entries = [each for each in listed if each.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        for entry in entries:
            if entry.name == ".git" and below:
                yield below
            elif entry.name not in _CLOSED:
                pending.append(os.path.join(below, entry.name))


# -- the guard of a workspace --------------------------------------------------------------------


def git_guard(context: Context, level: Level) -> GitGuard:
    """Return the guard of a workspace, for agents in a cell of some level."""
    folder = context.state.folder
    moves = os.path.join(folder, "git", MOVES)
    plans = plans_root(context.root)
    return GitGuard(os.path.join(folder, "gits"), context.root, plans, level, moves)


def heal(context: Context) -> None:
    """Put back what an agent destroyed whose runner was killed before it could do that.

    First of all: without it nobody might find the worktree, the plan or the configuration.
    """
    try:
        folder = context.state.folder
    except BindingError:  # told by who looks for the plans
        return
    if not os.path.isdir(os.path.join(folder, "gits")):
        return
    git_guard(context, Level(mounts=False, walls=False)).heal()
