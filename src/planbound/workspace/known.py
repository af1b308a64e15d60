"""Which files of a tree are known without reading them again: by what they look like.

A file that was read is known by its device, inode, mode, size and times. It is not opened again as
long as all of them are the same. What is not sure is read: a file that changed a moment before it
was read, that somebody could still write to, that lies in another file system; and everything where
the clock was set back, the machine was started anew, or the times prove nothing (`stamps.py`).

What is known lies in one file of the state home for each workspace, which no cell shows. One that
is missing, damaged or about something else is as good as none.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from planbound.disk.decoders import msgpack_decoder
from planbound.workspace import stamps
from planbound.workspace.looks import UNKNOWN, columns, facts, look_of, rows
from planbound.workspace.manifest import Entry, EntryType, Manifest, manifest_of, with_changes
from planbound.workspace.stamps import SET_BACK, WINDOW, Clocks, moment

_FEW = 256
"""So many files are read sooner than it is found out whether they need not be, once or twice."""
_OFTEN = 2
"""Who has read a tree so often reads it again: a run does, at every step."""
_WORTH = 50
"""One in so many files has to be new for what is known to be written anew."""
_MAGIC = b"pbkn\x02"
_START = len(_MAGIC) + 32


class KnownFile(NamedTuple):
    """What was found at a path."""

    path: bytes
    entry: Entry
    look: bytes


class KnownFolder(NamedTuple):
    """What is in a folder but for the folders in it, in the order in which it is listed."""

    names: str
    """With `/` between them."""
    looks: bytes
    """Column by column (`looks.py`)."""
    paths: tuple[bytes, ...]
    entries: tuple[Entry, ...]
    length: int
    """Of all paths together."""

    def by_name(self) -> dict[str, KnownFile]:
        """Return what was found by its name."""
        if not self.paths:
            return {}
        found = map(KnownFile, self.paths, self.entries, rows(self.looks))
        return dict(zip(self.names.split("/"), found, strict=True))


def known_folder(names: Iterable[str], found: Iterable[KnownFile]) -> KnownFolder:
    """Return a folder as it was just read."""
    each = tuple(zip(*found, strict=True)) or ((), (), ())
    paths, entries, looks = each
    length = sum(map(len, paths))
    return KnownFolder("/".join(names), columns(b"".join(looks)), paths, entries, length)


class _Ground(NamedTuple):
    """What all that is known is about."""

    boot: str
    device: int
    inode: int


class LastReading(NamedTuple):
    """What a scan found, and of what that is put together."""

    manifest: Manifest
    folders: Mapping[bytes, KnownFolder]
    """What is in each folder but for the folders in it."""
    rest: Mapping[bytes, Entry]
    """Everything else."""

    def changed_by(
        self, folders: Mapping[bytes, KnownFolder], rest: Mapping[bytes, Entry]
    ) -> dict[bytes, Entry | None]:
        """Return what is to be changed in its manifest, so that it is of this instead."""
        changed: dict[bytes, Entry | None] = dict.fromkeys(self.rest)
        for path, folder in self.folders.items():
            if folders.get(path) is not folder:
                changed.update(dict.fromkeys(folder.paths))
        for path, folder in folders.items():
            if self.folders.get(path) is not folder:
                changed.update(zip(folder.paths, folder.entries, strict=True))
        changed.update(rest)
        return changed


class KnownFiles:
    """What is known of the files below one folder."""

    def __init__(self, file: str | None = None, now: Callable[[], Clocks] = moment) -> None:
        self.file = file
        self._now = now
        self._is_loaded = file is None
        self._ground: _Ground | None = None
        self._highest = 0
        self._is_sure: bool | None = None
        self._unsaved = 0
        self.readings = 0
        """How often the whole tree was read here."""
        self.folders: dict[bytes, KnownFolder] = {}
        self.last: LastReading | None = None
        """What the last scan found."""

    def reading(self, root: int) -> "TreeReading":
        """Begin to read the tree at an open folder."""
        if not self._is_loaded:
            self._load()
        now, found = self._now(), os.fstat(root)
        ground = _Ground(stamps.boot(), found.st_dev, found.st_ino)
        if ground != self._ground or now.offset < self._highest - SET_BACK:
            self._ground, self._highest, self._is_sure = ground, now.offset, None
            self.folders, self._unsaved = {}, 0
        self._highest = max(self._highest, now.offset)
        return TreeReading(self, root, found.st_dev, now.wall - WINDOW)

    def is_sure(self, root: int) -> bool:
        """Say whether looks prove anything in this file system."""
        if self._is_sure is None:
            self._is_sure = bool(self._ground and self._ground.boot)
            self._is_sure = self._is_sure and stamps.notes_every_change(root)
        return self._is_sure

    def take(self, folders: dict[bytes, KnownFolder], read: int, last: LastReading) -> None:
        """Take over what a whole tree looked like."""
        if self._now().offset < self._highest - SET_BACK:
            return  # set back while it was read
        self.folders, self.last = folders, last
        self.readings += 1
        self._unsaved += read
        is_worth_it = self._unsaved * _WORTH > len(last.manifest.entries) > _FEW
        if self.file is not None and self._is_sure and is_worth_it:
            # Whoever cannot keep it reads everything again.
            with contextlib.suppress(OSError):
                self._save(self.file)

    # -- in the state home -----------------------------------------------------------------------

    def _load(self) -> None:
        self._is_loaded = True
        assert self.file is not None
        try:
            with open(self.file, "rb") as file:
                data = file.read()
            body = memoryview(data)[_START:]
            if data[:_START] != _MAGIC + hashlib.sha256(body).digest():
                return
            kept = msgpack_decoder(_SavedFiles).decode(body)
            folders = {path: _unpacked(path, *rest) for path, *rest in kept.folders}
        except (OSError, ValueError):  # msgspec's errors are ValueErrors
            return
        self._ground, self._highest, self.folders = kept.ground, kept.highest, folders
        self._is_sure = True

    def _save(self, path: str) -> None:
        assert self._ground is not None
        folders = [_packed(folder, known) for folder, known in self.folders.items()]
        kept = _SavedFiles(self._ground, self._highest, folders)
        body = msgspec.msgpack.encode(kept)
        # Where there is no state home yet, whoever only looks makes none.
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), 0o700)
        fresh = f"{path}.{os.getpid()}"
        try:
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(_MAGIC + hashlib.sha256(body).digest())
                file.write(body)
            os.replace(fresh, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(fresh)
            raise
        self._unsaved = 0


class TreeReading:
    """One reading of a tree, which uses what is known and finds out more."""

    def __init__(self, known: KnownFiles, root: int, device: int, before: int) -> None:
        self._known = known
        self._root = root
        self._device = device
        self._before = before
        self._few = 0 if known.folders or known.readings >= _OFTEN else _FEW
        self._read = 0
        self._folders: dict[bytes, KnownFolder] = {}
        self._found: dict[bytes, KnownFolder] = {}
        self._rest: Mapping[bytes, Entry] = {}

    def folder(self, path: bytes) -> KnownFolder | None:
        """Return what is known of a folder."""
        return self._known.folders.get(path)

    def note(self, path: bytes, folder: KnownFolder) -> None:
        """Take in what a folder looks like now."""
        self._found[path] = folder
        if folder.looks.strip(b"\0"):
            self._folders[path] = folder

    def look(self, descriptor: int, found: os.stat_result) -> bytes:
        """Return by what a file is known that is about to be read."""
        if found.st_ctime_ns >= self._before or found.st_dev != self._device:
            return UNKNOWN
        self._read += 1
        if self._read <= self._few:
            return UNKNOWN
        if not self._known.is_sure(self._root) or stamps.has_writer(descriptor):
            return UNKNOWN
        return look_of(found)

    def manifest(self, rest: Mapping[bytes, Entry], truncated: str | None) -> Manifest:
        """Return all that was noted, and the rest: made from the last one, where there is one."""
        self._rest, last = rest, self._known.last
        if last is not None and truncated is None:
            return with_changes(last.manifest, last.changed_by(self._found, rest))
        entries = dict(rest)
        for folder in self._found.values():
            entries.update(zip(folder.paths, folder.entries, strict=True))
        return manifest_of(entries, truncated=truncated)

    def end(self, manifest: Manifest) -> None:
        """Keep what was found out; half a tree is forgotten."""
        if manifest.truncated is None:
            last = LastReading(manifest, self._found, self._rest)
            self._known.take(self._folders, self._read, last)


# -- as bytes ------------------------------------------------------------------------------------


_PackedFolder = tuple[bytes, bytes, bytes, bytes]
"""Its path, the names of files in it, what they look like, and their digests."""


class _SavedFiles(NamedTuple):
    ground: _Ground
    highest: int
    folders: list[_PackedFolder]


def _packed(path: bytes, folder: KnownFolder) -> _PackedFolder:
    known = [
        (os.fsencode(name), file.look, file.entry.content)
        for name, file in folder.by_name().items()
        if file.look != UNKNOWN
    ]
    names, looks, digests = zip(*known, strict=True) if known else ((), (), ())
    return path, b"/".join(names), b"".join(looks), b"".join(digests)


def _unpacked(path: bytes, joined: bytes, looks: bytes, digests: bytes) -> KnownFolder:
    prefix = path + b"/" if path else b""
    paths = tuple([prefix + name for name in joined.split(b"/")]) if joined else ()
    known = facts(looks)
    if len(known) != len(paths) or len(digests) != 32 * len(paths):
        raise ValueError("not as many looks or digests as names")
    entries = tuple(
        [
            Entry(EntryType.FILE, _MODES[mode & 0o7777], size, digests[start : start + 32])
            for (mode, size), start in zip(known, range(0, len(digests), 32), strict=True)
        ]
    )
    return KnownFolder(os.fsdecode(joined), columns(looks), paths, entries, sum(map(len, paths)))


_MODES = tuple(range(0o10000))
"""One number for all that are equal."""
