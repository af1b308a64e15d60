"""Keeps repositories from being lost to an agent: a copy before, a look afterwards."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterable, Iterator, Sequence

from planbound.engine.manifest import CACHES, SUMMARISED
from planbound.errors import FileProblem
from planbound.ports.git import Damage
from planbound.shell.cell.inside.tree import remove_entry
from planbound.shell.git import index as index_file
from planbound.shell.git.directory import modules_of
from planbound.shell.git.keeping import (
    Found,
    Level,
    Record,
    git_folders,
    is_alive,
    keep,
    pointer_text,
    short,
    this_process,
)
from planbound.shell.git.mending import Mender
from planbound.shell.git.opening import open_folder

_CLOSED = frozenset(os.fsdecode(name) for name in (*CACHES, *SUMMARISED))
_OPEN = "kept-"


class GitGuard:
    """See `ports.git.Guard`."""

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

    def keep(self, root: str, nested: Iterable[str] | None, run: str) -> tuple[str, ...]:
        """Keep a copy of every repository that an agent in a workspace can write to."""
        root = os.path.realpath(root)
        with self._lock:
            others = self._at_work.get(root, 0)
            records = self._records(root) if others else []
            if not records or not all(record.is_open for record in records):
                self._sealed[root] = self._kept(root, nested, run)
            # Otherwise what was kept before the first of them stands for all.
            self._at_work[root] = others + 1
            return self._sealed[root]

    def _kept(self, root: str, nested: Iterable[str] | None, run: str) -> tuple[str, ...]:
        inner = list(_nested(root)) if nested is None else list(nested)
        sealed: list[str] = []
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with self._held():
                for found in self._found(root, inner):
                    sealed += self._keep(root, found, run)
                if not self._level.mounts:
                    self._keep_own(root)
        except OSError as error:
            what = str(error.filename or self._folder)[-200:]
            raise FileProblem(
                f"no copy of the repository can be kept: {what}: {error.strerror}",
                hint="nothing was started: an agent could have destroyed it",
            ) from error
        return tuple(os.path.relpath(path, root) for path in sealed)

    def look(self, root: str, *, last: bool = True) -> Damage:
        """Put back what was destroyed since; say what."""
        with self._lock:
            alone = self._at_work.get(os.path.realpath(root), 0) <= 1
            if not self._records(root):
                return self._look(root, last=last and alone)
            # Two that put back the same file would get in each other's way.
            with self._held():
                return self._look(root, last=last and alone)

    def _look(self, root: str, *, last: bool) -> Damage:
        destroyed: list[str] = []
        mended: list[str] = []
        records = self._records(root)
        # Nothing can be put back into a folder that is closed.
        since = min((record.since for record in records), default=0)
        if open_folder(os.path.realpath(root), since):
            mended.append("permissions of the workspace")
        for record in records:
            if record.is_open:
                record.by = this_process()
                self._mend(record, last=last)
            destroyed += record.destroyed
            mended += record.mended
        return Damage(tuple(dict.fromkeys(destroyed)), tuple(dict.fromkeys(mended)))

    def settle(self, root: str, *, ended: bool = True) -> None:
        """Forget what is open: it is known now."""
        place = os.path.realpath(root)
        with self._lock:
            left = max(0, self._at_work.get(place, 0) - ended)
            self._at_work[place] = left
            for record in self._records(root):
                if place != self._home and not left:
                    remove_entry(record.folder)  # a copy of the workspace is gone soon
                elif record.is_open or record.destroyed or record.mended:
                    record.is_open = record.is_open and left > 0
                    record.destroyed, record.mended = [], []
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
        """Let the index say of these paths what it said before."""
        with self._lock:
            self._unstage(os.path.realpath(root), paths)

    def _unstage(self, root: str, paths: Sequence[str]) -> None:
        for record in self._records(root):
            top = _worktree(root, record)
            if top is None:
                continue
            mender = self._mender(record)
            name = f"{record.own}/index" if record.own else "index"
            index, kept = f"{record.path}/{name}", f"{record.copies}/{name}"
            inside = [os.path.relpath(os.path.join(root, path), top) for path in paths]
            before = index_file.entries(mender.with_index, kept) if name in record.small else {}
            now = index_file.entries(mender.with_index, index)
            wanted = {
                path: before.get(path, [])
                for path in inside
                if before.get(path, []) != now.get(path, [])
            }
            if wanted:
                fresh = f"{record.folder}/index"
                index_file.put_back(mender.with_index, index, wanted, fresh, record.no_id)

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Let nobody else begin or heal meanwhile, in whatever process."""
        with open(f"{self._folder}.lock", "ab") as file:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    # -- parts ---------------------------------------------------------------------------------

    def _found(self, root: str, nested: list[str]) -> Iterator[Found]:
        level = self._level
        places = git_folders(root, nested, walled=level.walls or root != self._home)
        if root != self._home and not level.walls:
            # It works in a copy, and nothing keeps it from the original.
            places += git_folders(self._home, (), walled=False)
        for found in places:
            yield found
            for module in modules_of(found.path):
                yield Found(module)

    def _keep(self, root: str, found: Found, run: str) -> list[str]:
        record = Record(f"{self._folder}/{_OPEN}{short(root)}-{short(found.path)}")
        record.load()
        if record.is_open:
            self._mend(record)
        if record.run != run:
            record.base, record.left, record.run = {}, {}, run
        record.path, record.own = found.path, found.own
        record.pointers = {path: pointer_text(path) for path in found.pointers}
        # Others look at the configuration and the hooks of the workspace's own `.git`.
        record.is_watched = self._level.watched and found.path == f"{root}/.git"
        record.has_files_watched = self._level.watched
        record.is_light = root != self._home and found.path.startswith(f"{root}/")
        sealed = keep(record, self._level, modules_of(found.path))
        inside = found.path.startswith(f"{root}/")
        return [f"{found.path}/{name}" for name in sealed] if inside else []

    def _keep_own(self, root: str) -> None:
        """Keep the harness's own files, where nothing else keeps an agent from them."""
        for place in dict.fromkeys((self._home, self._plans)):
            record = Record(f"{self._folder}/{_OPEN}{short(root)}-{short(place)}-own")
            record.load()
            if record.is_open:
                self._mend(record)
            record.path, record.is_plain = place, True
            keep(record, self._level, ())

    def _records(self, root: str | None) -> list[Record]:
        start = _OPEN if root is None else f"{_OPEN}{short(os.path.realpath(root))}-"
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return []
        found = []
        for name in names:
            record = Record(f"{self._folder}/{name}")
            if name.startswith(start) and record.load():
                found.append(record)
        return found

    def _mend(self, record: Record, *, last: bool = True) -> None:
        """Put back; afterwards what anybody does is not an agent's doing, if it was the last."""
        try:
            self._mender(record).mend()
            record.is_open = not last
            record.write()
        except OSError as error:
            what = str(error.filename or record.path)[-200:]
            raise FileProblem(
                f"the repository `{record.path}` cannot be put back: {what}: {error.strerror}",
                hint=f"the harness's copy is in `{record.pool}` and `{record.copies}`",
            ) from error

    def _mender(self, record: Record) -> Mender:
        moved = self._moved_since(record.since)
        return Mender(
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


def idle_copies(folder: str) -> list[str]:
    """Return what is kept of repositories while nobody works: the next run makes it anew."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    idle, pools = [], set()
    for name in names:
        record = Record(f"{folder}/{name}")
        if name.startswith(_OPEN) and record.load() and (record.is_open or record.destroyed):
            pools |= {record.folder, record.pool}
        idle.append(record.folder)
    return [path for path in idle if path not in pools]


def _is_left(record: Record) -> bool:
    """Say whether a runner was killed before it could look at what its agent did."""
    return record.is_open and not is_alive(record.by)


def _worktree(root: str, record: Record) -> str | None:
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
