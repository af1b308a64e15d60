"""Whole files: read with care, written so that no half of one is ever seen.

A write is a compare-and-swap: the new content goes into a file of its own beside the old one, is
synced, and takes the old one's place only if that still has the content hash that the writer
expects (or if nothing is there, with `EXPECT_ABSENT`). With a lock, that last look and the rename
happen while everybody else is kept out and the lock's number is still the writer's. Without one
there is a moment between the two: it is for files that are nobody else's.
"""

import contextlib
import enum
import errno
import os
import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from planbound.errors import AlreadyExists, ConcurrentModification, FileProblem, Refused, UsageError

if TYPE_CHECKING:
    from planbound.disk.lock import FileLock


# -- whole files: read with care, written so that no half of one is ever seen --------------------


LEASE_SECONDS = 10.0
"""How long a writer may take before another may overtake it."""
WAIT_SECONDS = LEASE_SECONDS + 5.0
"""How long to wait for another writer: longer than its lease."""

# What `link` says on file systems that have no hard links.
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP}

# What `fsync` of a folder says on file systems that have no such thing.
_NOT_SYNCED = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}


class Absent(enum.Enum):
    """The one thing to expect that is no content."""

    EXPECT_ABSENT = enum.auto()


EXPECT_ABSENT: Final = Absent.EXPECT_ABSENT
"""Expect that nothing is at the path, not even a dangling symbolic link."""


def content_hash(data: bytes) -> str:
    """Return what a file with this content is known by."""
    import hashlib  # noqa: PLC0415 - not every command writes

    return hashlib.sha256(data).hexdigest()


class Files:
    """The file system; with a folder for locks, one writer at a time for each file."""

    def __init__(self, lock_folder: str | None = None) -> None:
        self._lock_folder = lock_folder

    def read(self, path: str) -> bytes:
        """Return the content of a regular file of at most the size of a plan."""
        from planbound.plan.parse import MAX_BYTES  # noqa: PLC0415 - start-up: not all read plans

        try:
            # Not blocking: a FIFO must give an answer and not a wait.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise problem("read", path, error) from error
        try:
            expect_regular(descriptor, path, expected="a plan")
            # One byte more than a plan may have: the parser then says that it is too large.
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise problem("read", path, error) from error
        finally:
            os.close(descriptor)

    def create(self, path: str, data: bytes, *, lock: "FileLock | None" = None) -> None:
        """Write a new file; raise AlreadyExists where anything is at the path."""
        self.swap(path, data, expected=EXPECT_ABSENT, lock=lock)

    def replace(
        self, path: str, data: bytes, *, expected: bytes, lock: "FileLock | None" = None
    ) -> None:
        """Write over a file that still holds `expected`; raise ConcurrentModification otherwise."""
        self.swap(path, data, expected=content_hash(expected), lock=lock)

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        """Return what changes with the file: its time, size and number."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def swap(
        self, path: str, data: bytes, *, expected: str | Absent, lock: "FileLock | None" = None
    ) -> None:
        """Write a file whose content hash is `expected`.

        A lock that is given is held by the caller already, and stays so.
        """
        # What is at the path itself is in the way of a new file; an old one is written where a
        # symbolic link leads to.
        target = _at(path) if isinstance(expected, Absent) else os.path.realpath(path)
        with self._held(path, lock) as held:
            temporary = _write_beside(target, data, number=held.number if held else None)
            try:
                with held.guarded() if held else contextlib.nullcontext():
                    if isinstance(expected, Absent):
                        _link(temporary, target, path)
                    else:
                        _rename(temporary, target, path, expected)
                    if held:
                        _sweep(target, held.number or 0)
            finally:
                remove(temporary)
            sync_folder(target)

    def lock(self, path: str) -> "FileLock":
        """Return the lock of a file, not yet acquired; there must be a folder for locks."""
        from planbound.disk.lock import FileLock  # noqa: PLC0415 - not every command writes

        assert self._lock_folder is not None
        name = content_hash(os.fsencode(os.path.realpath(path)))
        return FileLock(
            os.path.join(self._lock_folder, f"{name}.lock"),
            lease_seconds=LEASE_SECONDS,
            subject=path,
        )

    @contextlib.contextmanager
    def _held(self, path: str, lock: "FileLock | None") -> "Iterator[FileLock | None]":
        if lock is not None or self._lock_folder is None:
            yield lock
            return
        own = self.lock(path)
        own.acquire(wait_seconds=WAIT_SECONDS)
        try:
            yield own
        finally:
            # The write is done or undone by now; a lock that cannot be given back runs out.
            with contextlib.suppress(FileProblem, Refused):
                own.release()

    def refuse_unwritable(self, path: str) -> None:
        """Raise FileProblem where another file could not take the place of this one."""
        target = os.path.realpath(path)
        remove(_write_beside(target, b"?", number=None))

    def make_folder(self, path: str) -> bool:
        """Make a folder with its parents; return whether it was not there."""
        if os.path.isdir(path):
            return False
        try:
            os.makedirs(path)
        except OSError as error:
            raise problem("make", path, error) from error
        return True


def _write_beside(path: str, data: bytes, *, number: int | None, mode: int = 0o644) -> str:
    """Write a synced file of a unique name in the same folder."""
    folder, name = os.path.split(path)
    unique = os.urandom(8).hex() if number is None else f"f{number}-{os.urandom(8).hex()}"
    temporary = os.path.join(folder, f".{name}.{unique}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except OSError as error:
        raise problem("write", path, error) from error
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException as error:
        remove(temporary)
        if isinstance(error, OSError):
            raise problem("write", path, error) from error
        raise
    return temporary


def _link(temporary: str, target: str, path: str) -> None:
    try:
        # A hard link fails where anything is, a dangling symbolic link included.
        try:
            os.link(temporary, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # So does this, but a crash in the next moment leaves an empty file.
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
            os.replace(temporary, target)
    except FileExistsError as error:
        raise AlreadyExists(f"`{shown(path)}` is there already") from error
    except OSError as error:
        raise problem("write", path, error) from error


def _rename(temporary: str, target: str, path: str, expected: str) -> None:
    if os.path.realpath(path) != target or _hash_of(target) != expected:
        raise ConcurrentModification(
            f"`{shown(path)}` was changed by somebody else meanwhile; nothing was written",
            hint="run the command again",
        )
    try:
        with contextlib.suppress(OSError):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except OSError as error:
        raise problem("write", path, error) from error


def _hash_of(path: str) -> str | None:
    """Return the hash of a file's whole content, None where there is no file."""
    import hashlib  # noqa: PLC0415 - not every command writes

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise problem("read", path, error) from error
    try:
        expect_regular(descriptor, path, expected="a plan")
        with open(descriptor, "rb", closefd=False) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise problem("read", path, error) from error
    finally:
        os.close(descriptor)


def _sweep(target: str, number: int) -> None:
    """Remove what writers left that were killed: no number before this one can write any more."""
    folder, name = os.path.split(target)
    left = re.compile(rf"\.{re.escape(name)}\.f(\d+)-[0-9a-f]{{16}}\.tmp")
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            found = left.fullmatch(entry)
            if found and int(found[1]) < number:
                remove(os.path.join(folder, entry))


def _at(path: str) -> str:
    """Return the real path of a name, not of what a link of that name leads to."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


# -- for the other modules that keep files -------------------------------------------------------


def remove(path: str) -> None:
    """Remove a file if that can be done."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def sync_folder(path: str) -> None:
    """Make the name of a file last: without this a crash may undo its rename."""
    try:
        descriptor = os.open(
            os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        )
    except PermissionError:
        return  # a folder may be writable and not readable
    except OSError as error:
        raise _unsynced(path, error) from error
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_SYNCED:
            raise _unsynced(path, error) from error
    finally:
        os.close(descriptor)


def write_whole(path: str, data: bytes, *, private: bool = False) -> None:
    """Write a file whole or not at all, whatever was there; `private`: for its owner alone."""
    target = os.path.realpath(path)
    with contextlib.suppress(OSError):
        mode = os.stat(target).st_mode
        if not stat.S_ISREG(mode):  # nothing takes the place of a folder or a device
            raise UsageError(f"`{shown(path)}` is {_kind(mode)}, expected a file")
    temporary = _write_beside(target, data, number=None, mode=0o600 if private else 0o644)
    try:
        os.replace(temporary, target)
    except OSError as error:
        raise problem("write", path, error) from error
    finally:
        remove(temporary)
    sync_folder(target)


def _unsynced(path: str, error: OSError) -> FileProblem:
    return FileProblem(
        f"`{shown(path)}` was written, but the disk did not confirm it: {error.strerror or error}"
    )


def expect_regular(descriptor: int, path: str, *, expected: str) -> None:
    """Raise UsageError where an open file is not a regular one."""
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        raise UsageError(f"`{shown(path)}` is {_kind(mode)}, expected {expected}")


def problem(verb: str, path: str, error: OSError) -> FileProblem:
    """Return the error of the system in our words."""
    return FileProblem(f"cannot {verb} `{shown(path)}`: {error.strerror or error}")


def shown(path: str) -> str:
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


# -- files that the harness reads and writes -----------------------------------------------------


class PlanFile(NamedTuple):
    """A plan's file: its slug, where it is, and how it is shown."""

    slug: str
    path: str
    shown: str


class Shelf(enum.Enum):
    """Where a plan is kept; the value is the folder below `.harness/`."""

    ACTIVE = ""
    STAGED = "queued-plans"
    ARCHIVE = "archive"


class ConflictCopy(NamedTuple):
    """A copy that a synchroniser or an editor left beside a file."""

    path: str
    shown: str
    original: str
    """The name of the file that it is a copy of."""
