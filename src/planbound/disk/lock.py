"""An exclusive lock between the processes of one machine, with a lease and a number.

Two things carry it. The *kernel lock* (`flock` on a file that never goes away) is held for moments
only: while the record is read or written, and while a holder looks that it still is the holder and
renames its file. The *record*, a JSON file beside it, says who holds the lock, until when, and
with which number. The number grows with every acquisition. Whoever was paused for longer than its
lease and was overtaken finds another number in the record, and cannot write any more.

The record is kept when nobody holds the lock: it remembers the number.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from planbound.disk.files import problem, remove, shown, sync_folder
from planbound.errors import ConcurrentModification, FileProblem, Refused

# -- an exclusive lock between the processes of one machine, with a lease and a number ------------


PATIENCE = 5.0
"""How many seconds to wait for a kernel lock, which is held for moments only."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05


class ProcessIdentity(NamedTuple):
    """A process, told apart from every other that had or will have its number."""

    host: str
    realm: str
    """Boot and process namespace: only within one can process numbers be looked up."""
    pid: int
    started: str
    nonce: str

    @property
    def name(self) -> str:
        """The process, for people."""
        return f"process {self.pid} on `{self.host}`"

    @property
    def mark(self) -> str:
        """The process as text, for `is_gone`."""
        return json.dumps([self.host, self.realm, self.pid, self.started])


class _LockRecord(NamedTuple):
    """Who holds the lock, and how often it was acquired."""

    number: int = 0
    owner: ProcessIdentity | None = None
    lease: float = 0.0
    expires: float = 0.0


def machine_clock() -> float:
    """Return seconds since the machine started: the same for all processes, never set back."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """Return what tells this start of the machine from every other; empty where that is unknown."""
    return _first_line("/proc/sys/kernel/random/boot_id")


def this_process() -> ProcessIdentity:
    """Return an owner that is this process, and no other owner in it."""
    realm = boot_id()
    with contextlib.suppress(OSError):
        realm += " " + os.readlink("/proc/self/ns/pid")
    return ProcessIdentity(
        host=os.uname().nodename,
        realm=realm,
        pid=os.getpid(),
        started=_process(os.getpid())[1],
        nonce=os.urandom(8).hex(),
    )


class FileLock:
    """One holder's view of a lock. An object is for one thread; others make their own.

    `clock` must give the same time in all processes of the machine. `subject` is what the lock
    keeps, for messages.
    """

    def __init__(
        self,
        path: str,
        *,
        lease_seconds: float,
        clock: Callable[[], float] = machine_clock,
        owner: ProcessIdentity | None = None,
        subject: str | None = None,
    ) -> None:
        self.path = path
        self.number: int | None = None
        self._lease = lease_seconds
        self._clock = clock
        self._owner = owner or this_process()
        self._subject = subject or path
        self._record_path = f"{path}.json"
        self._inside = False

    def acquire(self, *, wait_seconds: float) -> int:
        """Return the number of this acquisition; raise Refused where another holds on.

        A holder that is dead is overtaken at once, a living one when its lease has run out.
        """
        _make_private(os.path.dirname(self.path))
        end = time.monotonic() + wait_seconds
        pause = _FIRST_PAUSE
        while True:
            with self._critical(max(0.0, end - time.monotonic())):
                record = self._load()
                if self._is_free(record):
                    number = record.number + 1
                    self._store(self._mine(number))
                    self.number = number
                    return number
            left = end - time.monotonic()
            if left <= 0:
                raise self._busy()
            time.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_PAUSE)

    def renew(self) -> None:
        """Start the lease anew; raise ConcurrentModification where the lock was lost."""
        with self.guarded():
            self._store(self._mine(self.number or 0))

    def still_mine(self) -> bool:
        """Return whether nobody overtook this holder; it stays true within `guarded()` only."""
        if self.number is None:
            return False
        with self._critical(PATIENCE):
            record = self._load()
        return record.owner == self._owner and record.number == self.number

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Keep everybody out for a moment; raise ConcurrentModification where the lock was lost."""
        with self._critical(PATIENCE):
            if not self.still_mine():
                raise self._lost()
            yield

    def release(self) -> None:
        """Give the lock back; somebody else's stays as it is."""
        with self._critical(PATIENCE):
            if self.still_mine():
                self._store(_LockRecord(number=self.number or 0))
        self.number = None

    # -- the record ----------------------------------------------------------------------------

    def _mine(self, number: int) -> _LockRecord:
        return _LockRecord(number, self._owner, self._lease, self._clock() + self._lease)

    def _is_free(self, record: _LockRecord) -> bool:
        if record.owner is None or _is_dead(record.owner, here=self._owner):
            return True
        # More time left than a lease has: the clock is another machine's, or that of an earlier
        # start of this one.
        return not 0 < record.expires - self._clock() <= record.lease

    def _load(self) -> _LockRecord:
        try:
            with open(self._record_path, "rb") as file:
                return _decoded(file.read())
        except FileNotFoundError:
            return _LockRecord()
        except OSError as error:
            raise problem("read", self._record_path, error) from error
        except (ValueError, TypeError, KeyError) as error:
            raise FileProblem(
                f"`{self._record_path}` is not the record of a lock",
                hint="remove it while no planbound is running",
            ) from error

    def _store(self, record: _LockRecord) -> None:
        owner = record.owner._asdict() if record.owner else None
        content = {
            "version": 1,
            "fence": record.number,  # as it has been called in these files from the first
            "owner": owner,
            "lease": record.lease,
            "expires": record.expires,
            "subject": self._subject,
        }
        # The kernel lock is held: one name is enough, and what a crash leaves is written over.
        temporary = f"{self._record_path}.tmp"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            with open(os.open(temporary, flags, 0o600), "wb") as file:
                file.write(json.dumps(content).encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._record_path)
        except OSError as error:
            remove(temporary)
            raise problem("write", self._record_path, error) from error
        sync_folder(self._record_path)

    # -- the kernel lock -----------------------------------------------------------------------

    @contextlib.contextmanager
    def _critical(self, seconds: float) -> Iterator[None]:
        if self._inside:
            yield
            return
        with kernel_lock(self.path, mode=0o600, seconds=seconds, busy=self._busy):
            self._inside = True
            try:
                yield
            finally:
                self._inside = False

    # -- in words ------------------------------------------------------------------------------

    def _busy(self) -> Refused:
        return Refused(
            f"`{shown(self._subject)}` is locked by {self._holder()}",
            hint="wait for it, or end it: the lock of a process goes with the process",
        )

    def _lost(self) -> ConcurrentModification:
        if self.number is None:
            return ConcurrentModification(f"the lock of `{shown(self._subject)}` is not held")
        return ConcurrentModification(
            f"the lock of `{shown(self._subject)}` was lost after {self._lease:g} seconds "
            f"to {self._holder()}; nothing was written",
            hint="run the command again",
        )

    def _holder(self) -> str:
        owner = self._load().owner
        return owner.name if owner else "another process"


@contextlib.contextmanager
def kernel_lock(
    path: str, *, mode: int, seconds: float, busy: Callable[[], Refused]
) -> Iterator[int]:
    """Hold the kernel lock of a file, made where there is none; yield an appending descriptor."""
    descriptor = _locked(path, mode=mode, end=time.monotonic() + seconds, busy=busy)
    try:
        yield descriptor
    finally:
        # Said, and not left to closing: a child that was forked meanwhile has a descriptor too.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _locked(path: str, *, mode: int, end: float, busy: Callable[[], Refused]) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    pause = _FIRST_PAUSE
    while True:
        try:
            descriptor = os.open(path, flags, mode)
        except OSError as error:
            raise problem("open", path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except (BlockingIOError, FileNotFoundError):
            pass  # held by another, or the file was removed or replaced: look again
        except OSError as error:
            os.close(descriptor)
            raise problem("lock", path, error) from error
        os.close(descriptor)
        left = end - time.monotonic()
        if left <= 0:
            raise busy()
        time.sleep(min(pause, left))
        pause = min(pause * 2, _LONGEST_PAUSE)


# -- owners ------------------------------------------------------------------------------------


def is_gone(mark: str) -> bool:
    """Say whether the process of a mark is dead; False where that cannot be told from here."""
    try:
        host, realm, pid, started = json.loads(mark)
        owner = ProcessIdentity(host, realm, int(pid), started, "")
    except (ValueError, TypeError):
        return False  # the mark of another version
    return _is_dead(owner, here=this_process())


def _is_dead(owner: ProcessIdentity, *, here: ProcessIdentity) -> bool:
    if (owner.host, owner.realm) != (here.host, here.realm):
        return False  # its number means nothing here: only the lease tells
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is there, and not ours
    state, started = _process(owner.pid)
    return state in {"Z", "X"} or bool(started and owner.started and started != owner.started)


def _process(pid: int) -> tuple[str, str]:
    """Return state and start time of a process, empty where they cannot be read."""
    # The name in parentheses may hold anything, parentheses and spaces included.
    fields = _first_line(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (fields[0], fields[19]) if len(fields) > 19 else ("", "")


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""


def _decoded(data: bytes) -> _LockRecord:
    content: Any = json.loads(data)
    owner = content["owner"]
    return _LockRecord(
        number=int(content["fence"]),
        owner=None if owner is None else ProcessIdentity(**owner),
        lease=float(content["lease"]),
        expires=float(content["expires"]),
    )


def _make_private(folder: str) -> None:
    if not folder or os.path.isdir(folder):
        return
    _make_private(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise problem("make", folder, error) from error


# -- the lock of a worktree, between the processes of one machine --------------------------------


_PAUSE = 0.02


class WorktreeLock:
    """The right to work and judge in the workspace itself, where others may run beside.

    It is a kernel lock, which goes with the process that holds it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: int | None = None

    def take(self, give_up: Callable[[], bool]) -> bool:
        """Wait for the lock; return False where `give_up` says so before it is there."""
        try:
            if self._descriptor is None:
                os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._descriptor = os.open(self.path, flags, 0o600)
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
                if give_up():
                    return False
                time.sleep(_PAUSE)
        except OSError as error:
            raise FileProblem(f"`{self.path}` cannot be locked: {error.strerror}") from error

    def leave(self) -> None:
        """Let go of the lock."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
