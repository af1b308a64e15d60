"""Reads the files of a manifest for keeping, and puts back what was kept.

No link is followed, in no component of a path: each name is looked up in the open directory before
it. Outside of the root nothing is read or written, whatever an agent has put into the tree.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import time
from collections.abc import Container, Iterator
from typing import Protocol

from planbound.errors import FileProblem
from planbound.workspace.known import KnownFiles
from planbound.workspace.manifest import Entry, EntryType, Manifest, ScanRules
from planbound.workspace.scan import FILE, FOLDER, file_digest, scan

# -- reads the files of a manifest for keeping, and puts back what was kept ----------------------


_THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_contents(
    root: str, manifest: Manifest, wanted: Container[bytes] | None, *, limit: int
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the hashes that are wanted (None: all) with their contents, each once.

    Left out are files of more than `limit` bytes, and those that are not as the manifest says.
    """
    folders = _Folders(root)
    done: set[bytes] = set()
    try:
        for path, entry in manifest.entries.items():
            sha256 = entry.content
            if entry.type is not EntryType.FILE or entry.size > limit or sha256 in done:
                continue
            if wanted is not None and sha256 not in wanted:
                continue
            content = _read(folders, path, entry.size)
            if content is not None and hashlib.sha256(content).digest() == sha256:
                done.add(sha256)
                yield sha256, content
    finally:
        folders.close()


def put_back(root: str, path: bytes, entry: Entry | None, content: bytes | None) -> None:
    """Make a path be as the entry says; None: nothing is there.

    What is in the way is removed, with all that is in it. A file that is there with the right
    content needs none to be given. Raise FileProblem where it cannot be done.
    """
    shown = os.path.join(root, os.fsdecode(path))
    _check(path, entry, content, shown)
    before, _, name = path.rpartition(b"/")
    folders = _Folders(root)
    try:
        folder = folders.open(before, make=entry is not None)
        if entry is None:
            _remove(folder, name)
        elif entry.type is EntryType.DIRECTORY:
            _put_folder(folder, name, entry.mode)
        elif entry.type is EntryType.LINK:
            _put_link(folder, name, entry.content)
        elif content is not None:
            _put_file(folder, name, content, entry.mode)
        else:
            _put_mode(folder, name, entry, shown)
    except OSError as error:
        if entry is None and error.errno == errno.ENOENT:
            return
        raise FileProblem(f"cannot put back `{shown}`: {_reason(error)}") from error
    finally:
        folders.close()


def _check(path: bytes, entry: Entry | None, content: bytes | None, shown: str) -> None:
    if b"\0" in path or any(name in {b"", b".", b".."} for name in path.split(b"/")):
        raise FileProblem(f"cannot put back `{shown}`: it is no path within the tree")
    if entry is None:
        return
    if entry.type not in {EntryType.FILE, EntryType.LINK, EntryType.DIRECTORY}:
        raise FileProblem(f"cannot put back `{shown}`: it was no file, link or directory")
    given = content is not None and entry.type is EntryType.FILE
    if given and hashlib.sha256(content or b"").digest() != entry.content:
        raise FileProblem(f"cannot put back `{shown}`: this is not the content it had")


def _reason(error: OSError) -> str:
    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
        return "a directory on the way to it is a symbolic link or no directory"
    return error.strerror or str(error)


# -- the way to a path ---------------------------------------------------------------------------


class _Folders:
    """Opens directories of a tree, and keeps the last one: most often the next one is in it."""

    def __init__(self, root: str) -> None:
        try:
            self._root = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise FileProblem(f"cannot open `{root}`: {error.strerror or error}") from error
        self._path = b""
        self._last = self._root

    def open(self, path: bytes, *, make: bool = False) -> int:
        """Return the descriptor of a directory; it stays open until the next one is asked for."""
        if path == self._path:
            return self._last
        if self._path and path.startswith(self._path + b"/"):
            names = path[len(self._path) + 1 :].split(b"/")
        else:
            self._close_last()
            names = path.split(b"/") if path else []
        for name in names:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=self._last)
            try:
                descriptor = os.open(name, _THROUGH, dir_fd=self._last)
            except OSError as error:
                is_file = error.errno == errno.ENOTDIR and not _is_link(self._last, name)
                self._close_last()
                if is_file and not make:  # then there is nothing at the path, for sure
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from error
                raise
            if self._last != self._root:
                os.close(self._last)
            self._last = descriptor
        self._path = path
        return self._last

    def close(self) -> None:
        """Close all."""
        self._close_last()
        os.close(self._root)

    def _close_last(self) -> None:
        if self._last != self._root:
            os.close(self._last)
        self._path, self._last = b"", self._root


def _read(folders: _Folders, path: bytes, size: int) -> bytes | None:
    """Return the content of a regular file of that size, None where there is no such thing."""
    before, _, name = path.rpartition(b"/")
    try:
        descriptor = os.open(name, FILE, dir_fd=folders.open(before))
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        # One byte more: a file that has grown is not the one.
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(size + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return content if len(content) == size else None


# -- putting back --------------------------------------------------------------------------------


def _put_file(folder: int, name: bytes, content: bytes, mode: int) -> None:
    temporary = _unique()
    descriptor = os.open(temporary, _NEW, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        _rename(folder, temporary, name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _put_link(folder: int, name: bytes, target: bytes) -> None:
    temporary = _unique()
    os.symlink(target, temporary, dir_fd=folder)
    try:
        _rename(folder, temporary, name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _put_folder(folder: int, name: bytes, mode: int) -> None:
    if not _is_folder(folder, name):
        _remove(folder, name)
        os.mkdir(name, 0o700, dir_fd=folder)
    _set_mode(folder, name, mode)


def _put_mode(folder: int, name: bytes, entry: Entry, shown: str) -> None:
    """Set the mode of a file whose content is not given: it must be there already."""
    descriptor = -1
    with contextlib.suppress(OSError):
        descriptor = os.open(name, FILE, dir_fd=folder)
    try:
        if descriptor < 0 or _digest(descriptor) != entry.content:
            raise FileProblem(f"cannot put back `{shown}`: its content was not kept")
        os.fchmod(descriptor, entry.mode)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _digest(descriptor: int) -> bytes | None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        return None
    return file_digest(descriptor, found, lambda _: None)[1]


def _rename(folder: int, temporary: bytes, name: bytes) -> None:
    if _is_folder(folder, name):
        _remove(folder, name)
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _unique() -> bytes:
    return b".planbound-%s.tmp" % os.urandom(8).hex().encode()


def _is_folder(folder: int, name: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _is_link(folder: int, name: bytes) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _set_mode(folder: int, name: bytes, mode: int) -> None:
    """Set the mode of a directory, even of one that may not be read."""
    descriptor = os.open(name, _THROUGH, dir_fd=folder)
    try:
        # The one way to a mode that follows no link and needs no permission to read.
        os.chmod(f"/proc/self/fd/{descriptor}", mode)
    finally:
        os.close(descriptor)


# -- removing ------------------------------------------------------------------------------------


def _remove(folder: int, name: bytes) -> None:
    """Remove what is at a name with all that is in it, following no link."""
    if not _is_folder(folder, name):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return
    top = _open_for_removal(folder, name)
    try:
        # Directories are lifted to the top before they are removed: so no depth is too deep.
        while found := _empty(top, top):
            for each in found:
                below = _open_for_removal(top, each)
                try:
                    _empty(below, top)
                finally:
                    os.close(below)
                os.rmdir(each, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=folder)


def _empty(folder: int, top: int) -> list[bytes]:
    """Remove all that is no directory, move the others to the top; return those of the top."""
    found = []
    with os.scandir(folder) as listed:
        entries = [(os.fsencode(each.name), each.is_dir(follow_symlinks=False)) for each in listed]
    for name, is_folder in entries:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
        elif folder == top:
            found.append(name)
        else:
            _set_mode(folder, name, 0o700)  # to move a directory is to write in it
            os.rename(name, _unique(), src_dir_fd=folder, dst_dir_fd=top)
    return found


def _open_for_removal(folder: int, name: bytes) -> int:
    _set_mode(folder, name, 0o700)
    return os.open(name, FOLDER, dir_fd=folder)


# -- the workspace as a tree that is frozen ------------------------------------------------------


_SECONDS = 120.0
_MAX_CONTENT = 64 << 20


class RealTree:
    """The files below a folder."""

    def __init__(self, root: str, known: KnownFiles | None = None) -> None:
        self._root = root
        self.known = known

    @property
    def root(self) -> str:
        """Return where it is."""
        return self._root

    def manifest(self, rules: ScanRules) -> Manifest:
        """Return what is there now; bounded in time."""
        deadline = time.monotonic() + _SECONDS
        return scan(self._root, rules, deadline=deadline, known=self.known)

    def contents(
        self, manifest: Manifest, wanted: Container[bytes] | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield digest and content of files that still are as the manifest says."""
        return read_contents(self._root, manifest, wanted, limit=_MAX_CONTENT)

    def content(self, path: str, entry: Entry) -> bytes | None:
        """Return the content of a file that still is as the entry says."""
        name = path.encode("utf-8", "surrogateescape")
        one = Manifest({name: entry}, digest="")
        return next((content for _, content in self.contents(one)), None)

    def put_back(self, path: bytes, entry: Entry | None, content: bytes | None) -> None:
        """Make a path be as an entry says; None: let nothing be there."""
        put_back(self._root, path, entry, content)


# -- the workspace as a tree that is frozen, and copies of what was in it ------------------------


class Tree(Protocol):
    """The files of a workspace, read without following links.

    Besides the real one there are a tree that remembers what it saw, and one that shows no more
    than a git view allows (`agents/control.py`).
    """

    @property
    def root(self) -> str:
        """Return where it is."""

    def manifest(self, rules: ScanRules) -> Manifest:
        """Return what is there now; bounded in time."""

    def contents(
        self, manifest: Manifest, wanted: Container[bytes] | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield digest and content of files that still are as the manifest says."""

    def content(self, path: str, entry: Entry) -> bytes | None:
        """Return the content of a file that still is as the entry says."""

    def put_back(self, path: bytes, entry: Entry | None, content: bytes | None) -> None:
        """Make a path be as an entry says; None: let nothing be there."""
