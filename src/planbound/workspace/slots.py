"""The files around a plan's worktree, see `ports.slots`."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat

from planbound.engine.team.slot import POINTER
from planbound.errors import AlreadyExists, FileProblem
from planbound.workspace.tree import HARNESS, MARKER

_MAX_MARKER = 16 * 1024


class RealSlots:
    """Files on this machine; `main` is the workspace that holds the plans."""

    def __init__(self, main: str) -> None:
        self._main = main

    def mark(self, workspace: str, slug: str) -> None:
        """Write the marker."""
        path = os.path.join(workspace, HARNESS, MARKER)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            # A marker that is in the repository came with the checkout.
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                if file.read(1024).strip() == slug.encode():
                    return
            _write(path, slug)
        except OSError as error:
            raise FileProblem(f"cannot write `{path}`: {error.strerror}") from error

    def unmark(self, workspace: str, slug: str) -> None:
        """Take the marker away."""
        path = os.path.join(workspace, HARNESS, MARKER)
        try:
            with open(path, "rb") as file:
                if file.read(1024).strip() != slug.encode():
                    return
            os.unlink(path)
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(path))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise FileProblem(f"cannot remove `{path}`: {error.strerror}") from error

    def point(self, slug: str, path: str | None) -> None:
        """Write where a plan's worktree is."""
        pointer = os.path.join(self._main, HARNESS, f"{POINTER}{slug}")
        try:
            if path is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(pointer)
            else:
                _write(pointer, path)
        except OSError as error:
            raise FileProblem(f"cannot write `{pointer}`: {error.strerror}") from error

    def copy(self, name: str, workspace: str) -> bool:
        """Copy a file or folder of the main workspace."""
        source, target = os.path.join(self._main, name), os.path.join(workspace, name)
        if not os.path.lexists(source):
            return False
        if os.path.lexists(target):
            raise AlreadyExists(f"`{target}` came with the checkout: `{name}` needs no copy")
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(source) and not os.path.islink(source):
                shutil.copytree(source, target, symlinks=True)
            else:
                shutil.copy2(source, target, follow_symlinks=False)
        except (OSError, shutil.Error) as error:
            raise FileProblem(f"cannot copy `{name}`: {error}") from error
        return True

    def marker(self, workspace: str) -> str | None:
        """Return the plan that a marker names."""
        path = os.path.join(workspace, HARNESS, MARKER)
        try:
            with open(_regular(path), encoding="utf-8", errors="replace") as file:
                return file.read(_MAX_MARKER).strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise FileProblem(f"cannot read `{path}`: {error.strerror}") from error

    def is_same(self, name: str, workspace: str) -> bool | None:
        """Say whether a copy still is one."""
        source, copy = os.path.join(self._main, name), os.path.join(workspace, name)
        if not os.path.lexists(source):
            return None
        try:
            return _content(source) == _content(copy)
        except OSError as error:
            raise FileProblem(f"cannot compare `{copy}`: {error.strerror}") from error

    def discard(self, name: str, workspace: str) -> None:
        """Take a copy away."""
        path = os.path.join(workspace, name)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            with contextlib.suppress(OSError):
                while (path := os.path.dirname(path)) != workspace:
                    os.rmdir(path)
        except OSError as error:
            raise FileProblem(f"cannot remove `{path}`: {error.strerror}") from error


def _content(path: str) -> tuple[str, bytes]:
    """Return what is told apart at a path: the target of a link, or the digest of a file."""
    if os.path.islink(path):
        return "link", os.fsencode(os.readlink(path))
    with open(_regular(path), "rb") as file:
        return "file", hashlib.file_digest(file, "sha256").digest()


def _regular(path: str) -> int:
    """Open a file to read; nobody waits for the other end of a pipe."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(errno.EINVAL, "not a regular file")


def _write(path: str, text: str) -> None:
    fresh = f"{path}.{os.getpid()}~"
    try:
        with open(fresh, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)
