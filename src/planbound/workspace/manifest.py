"""Reads a whole tree into a manifest.

No time stamp is trusted for what is read file by file, no link is followed, nothing that could
block is opened, and no path is given to the system as a whole: every name is looked up in the open
directory it was found in. So a path may be longer than the system takes, and a directory that is
swapped for a link meanwhile leads nowhere.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from planbound.engine.manifest import Entry, EntryType, Manifest, ScanRules, manifest_of
from planbound.errors import FileProblem
from planbound.workspace.file_digest import Spend, file_digest
from planbound.workspace.summary import (
    ANNEXED,
    GIT_READ,
    Summary,
    is_aside,
    is_gits_own,
    is_rewritten,
)

MAX_OPEN = 128
"""How many directories are open at a time; each other one is found again when it is needed."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_TAG = b"CACHEDIR.TAG"
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


def scan(root: str, rules: ScanRules | None = None, *, deadline: float | None = None) -> Manifest:
    """Read the tree until a limit or the deadline (of the monotonic clock) is reached."""
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise FileProblem(f"cannot read `{root}`: {error.strerror or error}") from error
    walk = _Walk(descriptor, ScanRules() if rules is None else rules, deadline)
    truncated = None
    try:
        walk.run()
    except _Enough as enough:
        truncated = str(enough)
    finally:
        walk.close()
    return manifest_of(
        walk.result(),
        truncated=truncated,
        tagged=walk.tagged,
        left_out=walk.left_out | walk.tagged,
    )


class _Enough(Exception):  # noqa: N818 - the end of a walk, not an error
    """Why the tree is not read to its end."""


class _Folder:
    """A directory with others in it that are still to be read."""

    __slots__ = ("below", "depth", "descriptor", "path", "summary")

    def __init__(self, path: bytes, descriptor: int, depth: int, summary: Summary | None) -> None:
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
    def __init__(self, root: int, rules: ScanRules, deadline: float | None) -> None:
        self.tagged: set[bytes] = set()
        self.left_out: set[bytes] = set()
        self._rules = rules
        self._deadline = deadline
        self._summarised_paths = {path.strip(b"/") for path in rules.summarised_paths}
        self._cache_paths = {path.strip(b"/") for path in rules.cache_paths}
        self._entries: dict[bytes, Entry] = {}
        self._summaries: list[Summary] = []
        self._left = rules.max_entries
        self._path_bytes = 0
        self._spend: Spend = self._spend_bytes
        self._bytes = 0
        self._modes: dict[int, int] = {}  # one number for all that are equal
        self._root = _Folder(b"", root, 0, None)
        # From the root down, without those that have nothing left to be read. The first one is
        # always open, those before `_first_open` are not.
        self._stack = [self._root]
        self._first_open = 1

    def result(self) -> dict[bytes, Entry]:
        """Return all entries found so far."""
        return self._entries | {each.path: each.entry() for each in self._summaries}

    def close(self) -> None:
        """Close every directory."""
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
                folder.summary = Summary(folder.path, mode)
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
            if folder.summary is None:
                self._list_entries(folder)
            else:
                self._list_summary(folder, folder.summary)
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
        with os.scandir(folder.descriptor) as found:
            for each in found:
                name = encode(each.name)
                path = prefix + name
                if path in cache_paths:
                    self.left_out.add(path)
                    continue
                if not each.is_dir(follow_symlinks=False):
                    self._count(path)
                    entries[path] = self._leaf(folder.descriptor, each)
                    if name in caches:  # a link: seen, and taken out of what a contract sees
                        self.left_out.add(path)
                elif name in caches:
                    self.left_out.add(path)
                else:
                    folder.below.append((name, False))

    def _list_summary(self, folder: _Folder, summary: Summary) -> None:
        with os.scandir(folder.descriptor) as listed:
            # In the order of the names: so the digest needs no memory.
            found = sorted(listed, key=_name)
        is_git = summary.path.endswith(b".git")
        start = len(summary.path) + 1
        for each in found:
            name = os.fsencode(each.name)
            path = folder.path + b"/" + name
            if path in self._cache_paths:
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
                    self._entries[path] = self._leaf(folder.descriptor, each)
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

    # -- what is no directory --------------------------------------------------------------------

    def _leaf(self, folder: int, each: os.DirEntry[str]) -> Entry:
        try:
            if each.is_file(follow_symlinks=False):
                return self._file(folder, each.name)
            if each.is_symlink():
                target = os.fsencode(os.readlink(each.name, dir_fd=folder))
                return Entry(EntryType.LINK, 0o777, 0, target)
            return _other(each.stat(follow_symlinks=False).st_mode)
        except OSError as error:
            return self._unread(folder, each.name, error)

    def _file(self, folder: int, name: str) -> Entry:
        descriptor = os.open(name, FILE, dir_fd=folder)
        try:
            found = os.fstat(descriptor)
            mode = found.st_mode
            if not stat.S_ISREG(mode):  # it was one when the directory was listed
                return _other(mode)
            size, content = file_digest(descriptor, found, self._spend)
        finally:
            os.close(descriptor)
        mode &= 0o7777
        return Entry(EntryType.FILE, self._modes.setdefault(mode, mode), size, content)

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
        self._left -= 1
        self._path_bytes += len(path)
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
    if not _has(folder, _TAG):
        return False
    try:
        descriptor = os.open(_TAG, FILE, dir_fd=folder)
    except OSError:
        return False
    try:
        return os.read(descriptor, len(_SIGNATURE)) == _SIGNATURE
    except OSError:
        return False
    finally:
        os.close(descriptor)
