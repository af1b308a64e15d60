"""What files look like: all that the kernel says of one and that changes with its content.

Those of a whole folder are asked for at once, and kept column by column: so a folder with nothing
new costs little more than the calls of the kernel. Where the library of C has no `statx`, or says
another thing than Python, each file is asked for by Python.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cache

_LOOK = struct.Struct("=IHHQQqIiqIiII")
# Group, mode, inode, size, ctime and mtime, each with nanoseconds, and device: words of `statx`.
_WORDS = (3, 4, 5, 12, 13, 14, 15, 17)
_STATX_WORDS = 32
_STATX_BYTES = 8 * _STATX_WORDS
_BASIC = 0x7FF
_NO_FOLLOW = 0x100
_SECOND = 1_000_000_000
SIZE = _LOOK.size
UNKNOWN = bytes(SIZE)
"""The look of what is read again in any case: nothing looks like that."""
_AT_ONCE = 1024
_FEW = 16
"""So few files are asked for sooner by Python."""


def look_of(found: os.stat_result) -> bytes:
    """Return what one file looks like."""
    changed, modified = found.st_ctime_ns, found.st_mtime_ns
    return _LOOK.pack(
        found.st_gid,
        found.st_mode,
        0,
        found.st_ino,
        found.st_size,
        changed // _SECOND,
        changed % _SECOND,
        0,
        modified // _SECOND,
        modified % _SECOND,
        0,
        os.major(found.st_dev),
        os.minor(found.st_dev),
    )


def facts(looks: bytes) -> list[tuple[int, int]]:
    """Return mode and size of each file, by looks that stand one after the other."""
    return [(each[1], each[4]) for each in _LOOK.iter_unpack(looks)]


def columns(looks: bytes) -> bytes:
    """Return looks that stand one after the other column by column."""
    words = memoryview(looks).cast("Q")
    return b"".join([words[word :: len(_WORDS)].tobytes() for word in range(len(_WORDS))])


def rows(looks: bytes) -> list[bytes]:
    """Return the single looks of what stands column by column."""
    count = len(looks) // SIZE
    words = memoryview(looks).cast("Q")
    return [words[place::count].tobytes() for place in range(count)]


class Looker:
    """Asks what files look like, for one walk through a tree."""

    def __init__(self) -> None:
        self._many: _Statx | None = None

    def looks_in(self, folder: int, names: str, files: Sequence[os.DirEntry[str]]) -> bytes | None:
        """Return what files of an open folder look like, column by column; None if one is gone.

        `names` are theirs, with `/` between them.
        """
        if len(files) < _FEW or (statx := _statx()) is None:
            return _by_python(files)
        if self._many is None:
            self._many = _Statx(statx)
        each = os.fsencode(names).split(b"/")
        if len(each) <= _AT_ONCE:
            return self._many.looks(folder, each)
        parts: list[bytes] = []
        for start in range(0, len(each), _AT_ONCE):
            looks = self._many.looks(folder, each[start : start + _AT_ONCE])
            if looks is None:
                return None
            parts += rows(looks)
        return columns(b"".join(parts))


def _by_python(files: Iterable[os.DirEntry[str]]) -> bytes | None:
    try:
        found = [look_of(each.stat(follow_symlinks=False)) for each in files]
    except OSError:
        return None
    return columns(b"".join(found))


class _Statx:
    """Many calls of `statx` that write one behind the other."""

    def __init__(self, call: Callable[..., int]) -> None:
        import ctypes  # noqa: PLC0415 - start-up: few trees have so many files

        self._call = call
        self._buffer = ctypes.create_string_buffer(_STATX_BYTES * _AT_ONCE)
        self._words = memoryview(self._buffer).cast("B").cast("Q")
        start = ctypes.addressof(self._buffer)
        self._places = [ctypes.c_void_p(start + _STATX_BYTES * place) for place in range(_AT_ONCE)]

    def looks(self, folder: int, names: Sequence[bytes]) -> bytes | None:
        """Return what so many files look like at most, column by column; None if one is gone."""
        call, basic, no_follow = self._call, _BASIC, _NO_FOLLOW
        for name, place in zip(names, self._places, strict=False):
            if call(folder, name, no_follow, basic, place):
                return None
        found = self._words[: _STATX_WORDS * len(names)]
        return b"".join([found[word::_STATX_WORDS].tobytes() for word in _WORDS])


@cache
def _statx() -> Callable[..., int] | None:
    """Return the `statx` of the library of C; None where it has none that agrees with Python."""
    try:
        import ctypes  # noqa: PLC0415 - start-up: few trees have so many files

        call: Callable[..., int] = ctypes.CDLL(None).statx
    except (ImportError, AttributeError, OSError):
        return None
    return call if _agrees(_Statx(call)) else None


def _agrees(statx: _Statx) -> bool:
    """Say whether it tells of a file what Python tells."""
    path = os.path.abspath(__file__)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = statx.looks(folder, [os.fsencode(os.path.basename(path))])
        return found == columns(look_of(os.lstat(path)))
    except OSError:
        return False
    finally:
        os.close(folder)
