"""The disk below a path: whether it takes anything, and what is wrong when it does not."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from msgspec import Struct

from planbound.errors import FileProblem

_SAID = {
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EROFS: "the file system is read-only",
    errno.EIO: "the disk does not read or write what it is asked to",
}
_SQLITE = {
    "SQLITE_FULL": errno.ENOSPC,
    "SQLITE_IOERR": errno.EIO,
    "SQLITE_READONLY": errno.EROFS,
}
_HINTS = {
    errno.EROFS: "mount it so that it can be written, or choose another with `--state`",
    errno.EIO: "look at what the system says of the disk",
}
ROOM = "make room, for example by `planbound gc`, and run the command again"
_LEAST = 16 << 20
"""With less room than this a run is likely to stop."""


def disk_problem(error: BaseException) -> FileProblem | None:
    """Return what to tell people of an error that is the disk's; None where it is not."""
    for each in _chain(error):
        number, path = _number(each), getattr(each, "filename", None)
        if number is not None:
            where = f": `{os.fsdecode(path)}`" if isinstance(path, str | bytes) else ""
            return FileProblem(f"{_SAID[number]}{where}", hint=_HINTS.get(number, ROOM))
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, those that it holds, and those that it came of."""
    seen: set[int] = set()
    left = [error]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        left += [cause for cause in (each.__context__, each.__cause__) if cause is not None]
        if isinstance(each, BaseExceptionGroup):
            left += each.exceptions


def _number(error: BaseException) -> int | None:
    if isinstance(error, OSError):
        return error.errno if error.errno in _SAID else None
    name = getattr(error, "sqlite_errorname", None) or ""
    return next((number for start, number in _SQLITE.items() if name.startswith(start)), None)


# -- looking -------------------------------------------------------------------------------------


class Disk(Struct, frozen=True):
    """The file system that a path lies on."""

    mount: str
    """Where it is mounted."""
    device: str
    free: int
    """Bytes that an ordinary user can still write."""
    size: int
    is_read_only: bool
    has_names: bool
    """Whether another file can be made: a file system may have room, and no number left."""

    @property
    def trouble(self) -> str | None:
        """What is wrong with it; None where nothing is."""
        if self.is_read_only:
            return "it is read-only"
        if not self.has_names:
            return "it takes no more files, whatever their size"
        return None if self.free >= _LEAST else "hardly any space is left"


def disk_of(path: str) -> Disk:
    """Return the disk below a path, which need not be there yet."""
    path = os.path.realpath(path)
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    found = os.statvfs(path)
    mount, device = _mount(path)
    return Disk(
        mount,
        device,
        free=found.f_bavail * found.f_frsize,
        size=found.f_blocks * found.f_frsize,
        is_read_only=bool(found.f_flag & os.ST_RDONLY),
        has_names=found.f_files == 0 or found.f_favail > 0,
    )


def _mount(path: str) -> tuple[str, str]:
    """Return where the file system of a path is mounted, and what is."""
    number = os.stat(path).st_dev
    mine = f"{os.major(number)}:{os.minor(number)}"
    best = ("/", "unknown")
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError:
        return best
    for line in lines:
        fields, _, rest = line.partition(" - ")
        words, more = fields.split(), rest.split()
        if len(words) < 5 or len(more) < 2 or words[2] != mine:
            continue
        place = words[4].replace("\\040", " ")
        inside = path == place or path.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best[0]):
            best = (place, f"{more[1]}, {more[0]}")
    return best


def size_text(size: int) -> str:
    """Return a number of bytes as people read it."""
    if size < 1000:
        return f"{size} bytes"
    value, unit = size / 1000, "kB"
    for larger in ("MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}"
