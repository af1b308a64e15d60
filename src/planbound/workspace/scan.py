"""Reads a whole tree into a manifest.

No time stamp is trusted for what is read file by file, but for files that are known by them
(`known.py`). No link is followed, nothing that could block is opened, and no path is given to the
system as a whole: every name is looked up in the open directory it was found in. So a path may be
longer than the system takes, and a directory that is swapped for a link meanwhile leads nowhere.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TypeAlias

from planbound.errors import FileProblem
from planbound.workspace.known import (
    KnownFile,
    KnownFiles,
    KnownFolder,
    TreeReading,
    known_folder,
)
from planbound.workspace.looks import UNKNOWN, Looker, rows
from planbound.workspace.manifest import (
    CACHE_TAG,
    Entry,
    EntryType,
    Manifest,
    ScanRules,
    manifest_of,
)

# -- A directory as one entry: whether anything in it was written, without reading it ------------


GIT_READ = re.compile(
    rb"(?:HEAD|config|config\.worktree|commondir|hooks|info"
    rb"|modules/(?:(?!refs/|logs/|objects/)[^/]+/)+(?:config|config\.worktree|hooks|info)"
    rb"|worktrees/[^/]+/config\.worktree)",
    re.DOTALL,
)
"""What is read like any other file, seen from `.git`: it makes git run programs."""

_GIT_OWN = re.compile(
    rb"(?:[A-Z_]+HEAD|[A-Z_]+_(?:EDITMSG|MSG|MODE|RR|MERGE|LOG|NAMES|START|TERMS|EXPECTED_REV)"
    rb"|BISECT_.*|index|packed-refs|shallow|description|gc\.(?:pid|log)|sharedindex\..*"
    rb"|fsmonitor--daemon.*|AUTO_MERGE|objects|refs|logs|branches|modules|worktrees|lfs|rr-cache"
    rb"|rebase-(?:apply|merge)|sequencer|annex|reftable|cruft|filter-repo|opencode|.*\.lock)",
    re.DOTALL,
)
"""Also what others are known to keep there: opencode writes its name for the project."""

_GIT_ASIDE = re.compile(
    rb"lfs|rr-cache|filter-repo|opencode|cruft|branches/[^/]+|gc\.(?:pid|log)|fsmonitor--daemon[^/]*"
    rb"|[^/]*\.lock|annex/(?!objects\Z)[^/]+",
    re.DOTALL,
)
"""What others keep beside git's own files, and nobody looks at: no contract gets to see it."""

ANNEXED = b"annex/objects"
"""Links of the tree lead into it: it is watched like any folder that is summarised."""

_REWRITTEN = frozenset({b"__pycache__", b".vite", b".vite-temp", b".vitest"})

# Length of the path, type, mode, size, mtime and ctime.
_LINE = struct.Struct(">IHHQQQ")


def is_rewritten(folder: bytes, name: bytes) -> bool:
    """Say whether programs write a directory when they only run: it is left out."""
    return name in _REWRITTEN or (name == b".cache" and folder.endswith(b"node_modules"))


def is_gits_own(name: bytes) -> bool:
    """Say whether git itself makes something of that name in `.git`: the rest is looked at."""
    return _GIT_OWN.fullmatch(name) is not None


def is_aside(path: bytes) -> bool:
    """Say whether something in `.git`, seen from there, is nothing that git itself reads."""
    return _GIT_ASIDE.fullmatch(path) is not None


class DirectorySummary:
    """A directory as one entry: what is in it with times, without contents.

    With the time of the last change of anything about a file, which no program can set: a file
    that is written has another one, even where the time of its content is set back.
    """

    def __init__(self, path: bytes, mode: int) -> None:
        self.path = path
        self.mode = mode
        self.count = 0
        self.digest = hashlib.sha256()
        self.looks: dict[bytes, bytes] = {}
        """Each file as it is taken in."""

    def add(self, path: bytes, found: os.stat_result | None) -> None:
        """Take in what is at a path, or that nobody can tell; in the order of a walk."""
        self.count += 1
        if found is None:
            self.digest.update(_LINE.pack(len(path), 0, 0, 0, 0, 0) + path)
            return
        line = look_of(path, found)
        self.digest.update(line + path)
        if not stat.S_ISDIR(found.st_mode):
            self.looks[path] = line

    def entry(self) -> Entry:
        """Return the directory as its one entry."""
        return Entry(EntryType.SUMMARY, self.mode, self.count, self.digest.digest())


def look_of(path: bytes, found: os.stat_result) -> bytes:
    """Return what something in a summarised folder looks like, without its content."""
    kind, mode = stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode)
    # The times of a directory change with caches that are left out.
    facts = (found.st_size, _unsigned(found.st_mtime_ns), _unsigned(found.st_ctime_ns))
    size, modified, changed = (0, 0, 0) if kind == stat.S_IFDIR else facts
    return _LINE.pack(len(path), kind, mode, size, modified, changed)


def is_link(look: bytes) -> bool:
    """Say whether what looks like this is a link."""
    return stat.S_ISLNK(_LINE.unpack(look)[1])


def _unsigned(nanoseconds: int) -> int:
    return nanoseconds & 0xFFFF_FFFF_FFFF_FFFF  # before 1970 it is negative


# -- the SHA-256 of an open file; of what is mostly holes, a digest that does not read the holes -


Spend: TypeAlias = Callable[[int], None]
"""Told how many bytes come next; raises where that is too many."""

SMALL = 1 << 20
"""What is read at once."""
HOLES = 64 << 20
"""A file with holes of so many bytes has a digest of its own kind."""
BLOCK = 1 << 16
_ZEROS = bytes(BLOCK)
_SPARSE = b"planbound: the blocks of a sparse file that are not all zero\n"


def file_digest(descriptor: int, found: os.stat_result, spend: Spend) -> tuple[int, bytes]:
    """Return how many bytes a regular file has, and their digest."""
    size = found.st_size
    if size <= SMALL:
        spend(size)
        data = os.read(descriptor, size + 1)
        if len(data) == size:  # fewer than asked for: that was the end
            return size, hashlib.sha256(data).digest()
        return _read_on(descriptor, data, spend)
    if size - found.st_blocks * 512 >= HOLES and _has_holes(descriptor, size, spend):
        return size, _sparse(descriptor, size, spend)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return _read_on(descriptor, b"", spend)


def _read_on(descriptor: int, data: bytes, spend: Spend) -> tuple[int, bytes]:
    """Read to the end, whatever size the file said it has."""
    digest = hashlib.sha256(data)
    size = len(data)
    buffer = memoryview(bytearray(SMALL))
    while count := os.readv(descriptor, [buffer]):
        spend(count)
        digest.update(buffer[:count])
        size += count
    return size, digest.digest()


def _extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield where data begins and ends."""
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return  # nothing but a hole is left
        end = min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
        if start >= size or end <= start:  # it shrinks while it is read
            return
        yield start, end


def _has_holes(descriptor: int, size: int, spend: Spend) -> bool:
    holes, before = 0, 0
    for start, end in _extents(descriptor, size):
        spend(0)  # there may be millions: the time counts
        holes += start - before
        before = end
        if holes >= HOLES:
            return True
    return holes + size - before >= HOLES


def _sparse(descriptor: int, size: int, spend: Spend) -> bytes:
    """Return the digest of all blocks that are not zero: where holes are makes no difference."""
    digest = hashlib.sha256(_SPARSE + size.to_bytes(8, "big"))
    at = 0
    for start, end in _extents(descriptor, size):
        at = max(at, start - start % BLOCK)
        while at < end:
            data = os.pread(descriptor, min(BLOCK, size - at), at)
            spend(len(data))
            if data != _ZEROS[: len(data)]:
                digest.update(at.to_bytes(8, "big") + data)
            at += BLOCK
    return digest.digest()


# -- reads a whole tree into a manifest ----------------------------------------------------------


MAX_OPEN = 128
"""How many directories are open at a time; each other one is found again when it is needed."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

HARNESS = b".harness"
TOPICS = "topics"
"""What agents write for each other lies there, in the harness's folder."""
_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_VENVS = {b"venv", b".venv"}

# About us and not about the tree.
_OURS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}

_KINDS = {
    stat.S_IFIFO: b"FIFO",
    stat.S_IFSOCK: b"socket",
    stat.S_IFCHR: b"character device",
    stat.S_IFBLK: b"block device",
}


def scan(
    root: str,
    rules: ScanRules | None = None,
    *,
    deadline: float | None = None,
    known: KnownFiles | None = None,
) -> Manifest:
    """Read the tree until a limit or the deadline (of the monotonic clock) is reached.

    Without `known` every file is read; with it those that are not known.
    """
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise FileProblem(f"cannot read `{root}`: {error.strerror or error}") from error
    reading = None if known is None else known.reading(descriptor)
    walk = _Walk(descriptor, ScanRules() if rules is None else rules, deadline, reading)
    truncated = None
    try:
        walk.run()
    except _Enough as enough:
        truncated = str(enough)
    finally:
        walk.close()
    held, left_out = walk.held(), walk.left_out | walk.tagged
    if reading is None:
        return manifest_of(
            walk.result(), truncated=truncated, tagged=walk.tagged, left_out=left_out, held=held
        )
    found = reading.manifest(walk.result(), truncated)._replace(
        tagged=frozenset(walk.tagged),
        left_out=frozenset(left_out),
        held=held,
        looks=walk.looks(),
    )
    reading.end(found)
    return found


class _Enough(Exception):  # noqa: N818 - the end of a walk, not an error
    """Why the tree is not read to its end."""


class _Folder:
    """A directory with others in it that are still to be read."""

    __slots__ = ("below", "depth", "descriptor", "path", "summary")

    def __init__(
        self, path: bytes, descriptor: int, depth: int, summary: DirectorySummary | None
    ) -> None:
        self.path = path
        self.descriptor = descriptor
        self.depth = depth
        self.summary = summary
        self.below: list[tuple[bytes, bool]] = []
        """The names, and whether each belongs to the summary."""

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class _Walk:
    def __init__(
        self, root: int, rules: ScanRules, deadline: float | None, reading: TreeReading | None
    ) -> None:
        self.tagged: set[bytes] = set()
        self.left_out: set[bytes] = set()
        self._rules = rules
        self._deadline = deadline
        self._summarised_paths = {path.strip(b"/") for path in rules.summarised_paths}
        self._cache_paths = {path.strip(b"/") for path in rules.cache_paths}
        self._with_cache_paths = {path.rpartition(b"/")[0] for path in self._cache_paths}
        self._cache_names = {os.fsdecode(name) for name in rules.caches}
        self._reading = reading
        self._entries: dict[bytes, Entry] = {}
        self._summaries: list[DirectorySummary] = []
        self._left = rules.max_entries
        self._path_bytes = 0
        self._spend: Spend = self._spend_bytes
        self._bytes = 0
        self._modes: dict[int, int] = {}  # one number for all that are equal
        self._looks = hashlib.sha256()
        self._looker = Looker()
        self._root = _Folder(b"", root, 0, None)
        # From the root down, without those that have nothing left to be read. The first one is
        # always open, those before `_first_open` are not.
        self._stack = [self._root]
        self._first_open = 1

    def result(self) -> dict[bytes, Entry]:
        """Return all entries found so far, but for those that a reading has noted."""
        return self._entries | {each.path: each.entry() for each in self._summaries}

    def looks(self) -> str | None:
        """Return a digest of times, owners and links of what was read; None: nobody looked."""
        return None if self._reading is None else self._looks.hexdigest()

    def held(self) -> dict[bytes, dict[bytes, bytes]]:
        """Return what is in folders that are summarised; git's own has a guard of its own."""
        return {each.path: each.looks for each in self._summaries if not _is_git(each.path)}

    def close(self) -> None:
        """Close every directory, and let go of what leads back here: nobody collects that."""
        del self._spend
        for folder in self._stack:
            folder.close()
        self._root.close()

    def run(self) -> None:
        """Read everything; raise _Enough where that is not allowed."""
        self._list(self._root)
        while self._stack:
            top = self._stack[-1]
            if not top.below:
                self._pop()
                continue
            if top.descriptor < 0:
                self._reopen(top)
            name, summarised = top.below.pop()
            path = top.path + b"/" + name if top.path else name
            child = self._opened(top, path, name)
            if child is None:
                continue
            child.summary = top.summary if summarised else None
            try:
                self._enter(child, name)
            finally:
                if child.below:
                    self._push(child)
                else:
                    child.close()

    # -- the open directories --------------------------------------------------------------------

    def _opened(self, parent: _Folder, path: bytes, name: bytes) -> _Folder | None:
        if parent.depth >= self._rules.max_depth:
            raise _Enough(f"directories are more than {self._rules.max_depth} deep")
        try:
            descriptor = os.open(name, FOLDER, dir_fd=parent.descriptor)
        except OSError as error:
            self._count(path)
            if parent.summary is not None:
                parent.summary.add(path, None)
            else:
                self._entries[path] = self._unread(parent.descriptor, name, error)
            return None
        return _Folder(path, descriptor, parent.depth + 1, None)

    def _push(self, folder: _Folder) -> None:
        if not self._stack[-1].below and len(self._stack) > 1:
            self._pop()  # a chain of directories needs no more than one
        self._stack.append(folder)
        if len(self._stack) - self._first_open > MAX_OPEN:
            self._stack[self._first_open].close()
            self._first_open += 1

    def _pop(self) -> None:
        self._stack.pop().close()
        self._first_open = max(1, min(self._first_open, len(self._stack)))

    def _reopen(self, top: _Folder) -> None:
        """Open again the last directories of the stack: the next ones up will be needed, too."""
        self._first_open = max(1, len(self._stack) - MAX_OPEN // 2)
        kept = {len(each.path): each for each in self._stack[self._first_open :]}
        length, current, folder = -1, self._root.descriptor, self._root
        try:
            for name in top.path.split(b"/"):
                descriptor = os.open(name, FOLDER, dir_fd=current)
                if folder.descriptor != current:
                    os.close(current)
                length += 1 + len(name)
                current = descriptor
                if length in kept:
                    folder = kept[length]
                    folder.descriptor = descriptor
        except OSError as error:
            if folder.descriptor != current:
                os.close(current)
            raise _Enough("the tree changed while it was read") from error

    # -- directories -----------------------------------------------------------------------------

    def _enter(self, folder: _Folder, name: bytes) -> None:
        mode = stat.S_IMODE(os.fstat(folder.descriptor).st_mode)
        if folder.summary is None:
            if self._is_summarised(folder, name):
                folder.summary = DirectorySummary(folder.path, mode)
                self._summaries.append(folder.summary)
            elif folder.path not in self._rules.not_caches and _is_tagged(folder.descriptor):
                self.tagged.add(folder.path)
                return
            else:
                self._entries[folder.path] = Entry(EntryType.DIRECTORY, mode, 0, b"")
        self._count(folder.path)
        self._list(folder)

    def _is_summarised(self, folder: _Folder, name: bytes) -> bool:
        if name in self._rules.summarised:
            return name not in _VENVS or _has(folder.descriptor, b"pyvenv.cfg")
        if folder.path.endswith(b"/.git/" + ANNEXED) or folder.path == b".git/" + ANNEXED:
            return True
        return folder.path in self._summarised_paths

    def _list(self, folder: _Folder) -> None:
        try:
            if folder.summary is not None:
                self._list_summary(folder, folder.summary)
            elif self._reading is not None:
                self._list_known(folder, self._reading)
            else:
                self._list_entries(folder)
        except OSError as error:
            if folder is self._root:
                raise _Enough(f"it cannot be listed: {error.strerror or error}") from error
            folder.below.clear()
            if folder.summary is not None:
                folder.summary.add(folder.path, None)
            else:
                mode = self._entries[folder.path].mode
                self._entries[folder.path] = _unreadable(mode, error)

    def _list_entries(self, folder: _Folder) -> None:
        encode, entries = os.fsencode, self._entries
        prefix = folder.path + b"/" if folder.path else b""
        caches, cache_paths = self._rules.caches, self._cache_paths
        with os.scandir(folder.descriptor) as listed:
            for each in self._without_own(folder, listed):
                name = encode(each.name)
                path = prefix + name
                if path in cache_paths:
                    self.left_out.add(path)
                    continue
                if not each.is_dir(follow_symlinks=False):
                    self._count(path)
                    entries[path], _ = self._leaf(folder.descriptor, each)
                    if name in caches:  # a link: seen, and taken out of what a contract sees
                        self.left_out.add(path)
                elif name in caches:
                    self.left_out.add(path)
                else:
                    folder.below.append((name, False))

    def _list_summary(self, folder: _Folder, summary: DirectorySummary) -> None:
        with os.scandir(folder.descriptor) as listed:
            # In the order of the names: so the digest needs no memory.
            found = sorted(listed, key=_name)
        is_git = summary.path.endswith(b".git")
        start = len(summary.path) + 1
        for each in found:
            name = os.fsencode(each.name)
            path = folder.path + b"/" + name
            if path in self._cache_paths:
                self.left_out.add(path)
                continue
            is_folder = each.is_dir(follow_symlinks=False)
            strange = is_git and folder.path == summary.path and not is_gits_own(name)
            if is_git and is_aside(path[start:]):
                self.left_out.add(path)
            if is_git and path[start:] == ANNEXED and is_folder:
                folder.below.append((name, False))
                continue
            if is_git and (GIT_READ.fullmatch(path, start) or strange):
                if is_folder:
                    folder.below.append((name, False))
                else:
                    self._count(path)
                    self._entries[path], _ = self._leaf(folder.descriptor, each)
                continue
            rewritten = is_rewritten(folder.path, name)
            if rewritten:
                self.left_out.add(path)
            if is_folder:
                if rewritten:
                    continue
                folder.below.append((name, True))
            else:
                self._count(path)
            summary.add(path[start:], _stat(folder.descriptor, name))

    # -- what is known ---------------------------------------------------------------------------

    def _list_known(self, folder: _Folder, reading: TreeReading) -> None:
        """List a folder like any other; but take over what is known, and read only the rest."""
        with os.scandir(folder.descriptor) as listed:
            found = list(self._without_own(folder, listed))
        if folder.path in self._with_cache_paths:
            gone = {each for each in found if self._is_cache_path(folder.path, each)}
            found = [each for each in found if each not in gone]
        names = [each.name for each in found]
        known = reading.folder(folder.path)
        if known is not None and known.names == "/".join(names):
            looks = self._looker.looks_in(folder.descriptor, known.names, found)
            if looks == known.looks:  # of files, then: what else stands there looks different
                self._note_looks(folder, known.names, len(names), looks)
                self._count_all(len(names), known.length)
                reading.note(folder.path, known)
                self._leave_out(folder, names)
                return
        self._list_changed(folder, reading, found)
        self._leave_out(folder, names)

    def _leave_out(self, folder: _Folder, names: Iterable[str]) -> None:
        for name in self._cache_names.intersection(names):
            self.left_out.add(_joined(folder.path, os.fsencode(name)))

    def _list_changed(
        self, folder: _Folder, reading: TreeReading, found: list[os.DirEntry[str]]
    ) -> None:
        """List a folder that has others in it, or in which something is new."""
        leaves = [each for each in found if not each.is_dir(follow_symlinks=False)]
        names = [each.name for each in leaves]
        known = reading.folder(folder.path)
        joined = "/".join(names)
        looks = self._looker.looks_in(folder.descriptor, joined, leaves)
        self._note_looks(folder, joined, len(names), looks)
        if known is not None and known.names == joined and known.looks == looks:
            self._count_all(len(names), known.length)
        else:
            single = [] if looks is None else rows(looks)
            known = self._read_unknown(folder, leaves, known.by_name() if known else {}, single)
        reading.note(folder.path, known)
        if len(leaves) < len(found):
            folders = (each.name for each in found if each.is_dir(follow_symlinks=False))
            below = (name for name in folders if name not in self._cache_names)
            folder.below.extend((os.fsencode(name), False) for name in below)

    def _without_own(
        self, folder: _Folder, found: Iterable[os.DirEntry[str]]
    ) -> Iterable[os.DirEntry[str]]:
        """Return what is in a folder, without what is the harness's own where that is asked."""
        if folder.path != HARNESS or not self._rules.without_own:
            return found
        return [each for each in found if each.name == TOPICS]

    def _note_looks(self, folder: _Folder, names: str, count: int, looks: bytes | None) -> None:
        """Note what programs can ask of a folder and its files, but for their contents."""
        if folder.path == HARNESS or folder.path.startswith(HARNESS + b"/"):
            return  # the harness writes there, and nobody else without changing a content
        own = os.fstat(folder.descriptor)
        said = (folder.path, own.st_mtime_ns, own.st_uid, own.st_gid, count)
        self._looks.update(repr(said).encode() + os.fsencode(names))
        # Of what was gone when it was looked at nobody knows anything.
        self._looks.update(os.urandom(32) if looks is None else looks)

    def _is_cache_path(self, folder: bytes, each: os.DirEntry[str]) -> bool:
        path = _joined(folder, os.fsencode(each.name))
        if path not in self._cache_paths:
            return False
        self.left_out.add(path)
        return True

    def _read_unknown(
        self,
        folder: _Folder,
        leaves: list[os.DirEntry[str]],
        known: Mapping[str, KnownFile],
        looks: list[bytes],
    ) -> KnownFolder:
        found: list[KnownFile] = []
        for each, look in zip_longest(leaves, looks, fillvalue=UNKNOWN):
            assert not isinstance(each, bytes)
            file = known.get(each.name)
            if file is None or file.look != look or look == UNKNOWN:
                path = _joined(folder.path, os.fsencode(each.name))
                self._count_all(1, len(path))
                file = KnownFile(path, *self._leaf(folder.descriptor, each))
            else:
                self._count_all(1, len(file.path))
            found.append(file)
        return known_folder([each.name for each in leaves], found)

    # -- what is no directory --------------------------------------------------------------------

    def _leaf(self, folder: int, each: os.DirEntry[str]) -> tuple[Entry, bytes]:
        """Return what is there, and what it is known by if it was read."""
        try:
            if each.is_file(follow_symlinks=False):
                return self._file(folder, each.name)
            if each.is_symlink():
                target = os.fsencode(os.readlink(each.name, dir_fd=folder))
                return Entry(EntryType.LINK, 0o777, 0, target), UNKNOWN
            return _other(each.stat(follow_symlinks=False).st_mode), UNKNOWN
        except OSError as error:
            return self._unread(folder, each.name, error), UNKNOWN

    def _file(self, folder: int, name: str) -> tuple[Entry, bytes]:
        descriptor = os.open(name, FILE, dir_fd=folder)
        try:
            found = os.fstat(descriptor)
            mode = found.st_mode
            if not stat.S_ISREG(mode):  # it was one when the directory was listed
                return _other(mode), UNKNOWN
            # Before it is read: whoever writes from now on changes what it looks like.
            look = UNKNOWN if self._reading is None else self._reading.look(descriptor, found)
            size, content = file_digest(descriptor, found, self._spend)
        finally:
            os.close(descriptor)
        mode &= 0o7777
        entry = Entry(EntryType.FILE, self._modes.setdefault(mode, mode), size, content)
        return entry, look if size == found.st_size else UNKNOWN

    def _unread(self, folder: int, name: str | bytes, error: OSError) -> Entry:
        """Return the entry of what could not be opened as what it seemed to be."""
        if error.errno in _OURS:
            raise _Enough(error.strerror or str(error)) from error
        found = _stat(folder, name)
        if found is None:
            return _unreadable(0, error)
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and stat.S_ISLNK(found.st_mode):
            try:
                target = os.readlink(os.fsencode(name), dir_fd=folder)
            except OSError as again:
                return _unreadable(0, again)
            return Entry(EntryType.LINK, 0o777, 0, target)
        return _unreadable(stat.S_IMODE(found.st_mode), error)

    # -- limits ----------------------------------------------------------------------------------

    def _count(self, path: bytes) -> None:
        self._count_all(1, len(path))

    def _count_all(self, number: int, length: int) -> None:
        """Count entries, and how long their paths are together."""
        self._left -= number
        self._path_bytes += length
        if self._left < 0:
            raise _Enough(f"there are more than {self._rules.max_entries} entries")
        if self._path_bytes > self._rules.max_path_bytes:
            raise _Enough(f"all paths together have more than {self._rules.max_path_bytes} bytes")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise _Enough("the time was up")

    def _spend_bytes(self, count: int) -> None:
        self._bytes += count
        if self._bytes > self._rules.max_bytes:
            raise _Enough(f"all files together have more than {self._rules.max_bytes} bytes")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise _Enough("the time was up")


def _is_git(path: bytes) -> bool:
    return path == b".git" or path.endswith(b"/.git")


def _joined(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _name(each: os.DirEntry[str]) -> str:
    return each.name


def _other(mode: int) -> Entry:
    kind = _KINDS.get(stat.S_IFMT(mode), b"something else")
    return Entry(EntryType.OTHER, stat.S_IMODE(mode), 0, kind)


def _unreadable(mode: int, error: OSError) -> Entry:
    name = errno.errorcode.get(error.errno or 0, "EIO")
    return Entry(EntryType.UNREADABLE, mode, 0, name.encode())


def _stat(folder: int, name: str | bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def _has(folder: int, name: bytes) -> bool:
    found = _stat(folder, name)
    return found is not None and stat.S_ISREG(found.st_mode)


def _is_tagged(folder: int) -> bool:
    if not _has(folder, CACHE_TAG):
        return False
    try:
        descriptor = os.open(CACHE_TAG, FILE, dir_fd=folder)
    except OSError:
        return False
    try:
        return os.read(descriptor, len(_SIGNATURE)) == _SIGNATURE
    except OSError:
        return False
    finally:
        os.close(descriptor)
