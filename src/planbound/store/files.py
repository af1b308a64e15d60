"""Whole files: read with care, written so that no half of one is ever seen."""

from __future__ import annotations

import contextlib
import os
import stat

from planbound.errors import AlreadyExists, ConcurrentChange, FileProblem, UsageError
from planbound.plan.parse import MAX_BYTES


class RealFiles:
    """The file system."""

    def read(self, path: str) -> bytes:
        """Return the content of a regular file of at most the size of a plan."""
        try:
            # Not blocking: a FIFO must give an answer and not a wait.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _problem("read", path, error) from error
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise UsageError(f"`{_shown(path)}` is {_kind(mode)}, expected a plan")
            # One byte more than a plan may have: the parser then says that it is too large.
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise _problem("read", path, error) from error
        finally:
            os.close(descriptor)

    def create(self, path: str, data: bytes) -> None:
        """Write a new file; raise AlreadyExists where anything is at the path."""
        temporary = self._write_beside(path, data)
        try:
            # A hard link fails where anything is, a dangling symbolic link included.
            os.link(temporary, path, follow_symlinks=False)
        except FileExistsError as error:
            raise AlreadyExists(f"`{_shown(path)}` is there already") from error
        except OSError as error:
            raise _problem("write", path, error) from error
        finally:
            _remove(temporary)
        _sync_folder(path)

    def replace(self, path: str, data: bytes, *, expected: bytes) -> None:
        """Write over a file that still holds `expected`."""
        target = os.path.realpath(path)
        temporary = self._write_beside(target, data)
        try:
            with contextlib.suppress(OSError):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            if self.read(target) != expected:
                raise ConcurrentChange(
                    f"`{_shown(path)}` was changed by somebody else meanwhile; nothing was written",
                    hint="run the command again",
                )
            os.replace(temporary, target)
        except OSError as error:
            raise _problem("write", path, error) from error
        finally:
            _remove(temporary)
        _sync_folder(target)

    def make_folder(self, path: str) -> bool:
        """Make a folder with its parents; return whether it was not there."""
        if os.path.isdir(path):
            return False
        try:
            os.makedirs(path)
        except OSError as error:
            raise _problem("make", path, error) from error
        return True

    def _write_beside(self, path: str, data: bytes) -> str:
        folder, name = os.path.split(path)
        temporary = os.path.join(folder, f".{name}.{os.urandom(8).hex()}.tmp")
        try:
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644
            )
        except OSError as error:
            raise _problem("write", path, error) from error
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
        except OSError as error:
            _remove(temporary)
            raise _problem("write", path, error) from error
        return temporary


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _sync_folder(path: str) -> None:
    # The rename itself is lost in a crash unless the folder is synced; some file systems refuse.
    with contextlib.suppress(OSError):
        descriptor = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _problem(verb: str, path: str, error: OSError) -> FileProblem:
    return FileProblem(f"cannot {verb} `{_shown(path)}`: {error.strerror or error}")


def _shown(path: str) -> str:
    """Return a path as a person in the current folder would write it."""
    with contextlib.suppress(OSError, ValueError):
        relative = os.path.relpath(path)
        return path if relative.startswith(f"..{os.sep}..") else relative
    return path


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"
