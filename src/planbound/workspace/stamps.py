"""Whether what the kernel says about a file proves that its content is what it was.

The kernel sets the time of a file's last change (`ctime`) whenever the file is written, and no
program can set it back. That alone proves nothing: a time is no finer than a tick of the clock, a
clock can be set, a page that is mapped for writing is noticed once and then written in silence, and
many file systems keep no such time, or let others write behind their back. Each of this is asked
here, and "nobody knows" is a no. See docs/decisions/057.
"""

import fcntl
import mmap
import os
import signal
import time
from typing import NamedTuple

WINDOW = 2_000_000_000
"""Nanoseconds: what changed later than that before it was read may change again in silence."""
SET_BACK = 1_000_000_000
"""Nanoseconds by which a clock may fall behind without having been set back."""
_LOCAL = frozenset({"ext4", "xfs", "btrfs"})
"""File systems of this machine's own kernel that note the first write to every page. Not `tmpfs`,
which notes no write through a mapping; not what is served by others (NFS, 9p, FUSE), nor layers
over other files (overlay)."""
_TICKS = 0.1
"""Seconds in which the clock of every kernel ticks."""
_COARSE = 5
"""CLOCK_REALTIME_COARSE, by which files are stamped."""


class Clocks(NamedTuple):
    """A moment by two clocks, in nanoseconds."""

    wall: int
    """By the clock that files are stamped by, which can be set."""
    since_boot: int
    """By the one that nobody can set."""

    @property
    def offset(self) -> int:
        """How far one is ahead of the other: it falls where the clock is set back."""
        return self.wall - self.since_boot


def moment() -> Clocks:
    """Return the moment that is now."""
    return Clocks(time.time_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME))


def boot() -> str:
    """Return a name for the time since the machine was started; empty where nobody knows."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def has_writer(descriptor: int) -> bool:
    """Say whether anybody can write to a file without opening it first.

    By a descriptor, a mapping, or a call that is still under way: with any of them the kernel gives
    no read lease. True where it does not tell.
    """
    try:
        # Who opens the file in between waits for it, and this process is told by a signal: by one
        # that is ignored, and not by SIGIO, which would end it.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return True
    return False


def notes_every_change(folder: int) -> bool:
    """Say whether the file system of an open folder stamps whatever is written.

    By its kind, and by trying: with a file that has no name and leaves no trace.
    """
    if _kind(folder) not in _LOCAL:
        return False
    try:
        flags = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
        file = os.open(f"/proc/self/fd/{folder}", flags, 0o600)
    except OSError:
        return False
    try:
        return _is_stamped(file)
    except (OSError, ValueError):
        return False
    finally:
        os.close(file)


def _kind(folder: int) -> str:
    """Return what kind of file system a folder lies in, by its mount."""
    try:
        with open(f"/proc/self/fdinfo/{folder}", encoding="ascii") as file:
            mount = next(line.split()[1] for line in file if line.startswith("mnt_id:"))
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            found = next(line for line in file if line.split(" ", 1)[0] == mount)
        return found.rpartition(" - ")[2].split()[0]
    except (OSError, StopIteration, IndexError):
        return ""


def _is_stamped(file: int) -> bool:
    """Write to a file in the way that could go unnoticed: to a page that was read before."""
    os.write(file, bytes(mmap.PAGESIZE))
    reader = os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        with mmap.mmap(file, mmap.PAGESIZE) as page:
            before = os.fstat(file).st_ctime_ns
            if not has_writer(reader) or page[0] or not _ticks_after(before):
                return False
            page[0] = 1
            return os.fstat(file).st_ctime_ns > before
    finally:
        os.close(reader)


def _ticks_after(stamp: int) -> bool:
    end = time.monotonic() + _TICKS
    while time.clock_gettime_ns(_COARSE) <= stamp:
        if time.monotonic() > end:
            return False
    return True
