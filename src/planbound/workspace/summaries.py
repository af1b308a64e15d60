"""What was in a folder that is summarised: which of its files are not as they were.

A manifest has one entry for such a folder, made of names, sizes and times. The time of the last
change of anything about a file is set by the kernel alone, so a file that was written looks
different. But a file may look different and be the same: another project that links to it is
enough. So the harness keeps what the files looked like, and their contents' digests, and reads
again those that look different. See docs/decisions/047.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
import zlib
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from planbound.disk.decoders import msgpack_decoder
from planbound.workspace.manifest import EntryType, Manifest, path_text
from planbound.workspace.scan import FILE, file_digest, look_of

_SECONDS = 0.3
"""So long contents are read at a time; the rest is read when a tree is next frozen."""
_MOST = 20
_LOADED = (b".py", b".so", b".pth", b".js", b".cjs", b".mjs", b".node", b".pyc")
"""What interpreters load is read first."""
_MAGIC = b"pbsm\x01"

Looks = Mapping[bytes, bytes]
"""By path within the folder what a file looks like, as the summary takes it in."""


class _KeptLooks(NamedTuple):
    looks: dict[bytes, bytes]
    digests: dict[bytes, bytes]
    """Of the files that were read: of a link that of where it leads."""


class Summaries:
    """A file for each summary, in a folder of the state home."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, root: str, manifest: Manifest) -> None:
        """Keep what is in the summarised folders of a tree that was just read."""
        for path, looks in manifest.held.items():
            entry = manifest.entries.get(path)
            if entry is None or entry.type is not EntryType.SUMMARY:
                continue
            file = self._file(path, entry.content)
            kept = _load(file)
            if kept is not None and len(kept.digests) == len(kept.looks):
                continue
            known = kept or self._last(path)
            digests = _still_true(known, looks) if known is not None else {}
            _read_on(os.path.join(os.fsencode(root), path), looks, digests)
            # Whoever cannot keep it says later that the folder changed, and not which file.
            with contextlib.suppress(OSError):
                self._write(path, file, _KeptLooks(dict(looks), digests))

    def changed(
        self, root: str, path: str, before: bytes, after: Manifest
    ) -> tuple[str, ...] | None:
        """Return the files of a summarised folder that are not as they were.

        `before` is the content of its entry then. None where nobody knows them.
        """
        name = path.encode("utf-8", "surrogateescape")
        kept, looks = _load(self._file(name, before)), after.held.get(name)
        if kept is None or looks is None:
            return None
        top = os.path.join(os.fsencode(root), name)
        differ = sorted(
            each
            for each in kept.looks.keys() | looks.keys()
            if kept.looks.get(each) != looks.get(each)
        )
        return tuple(
            path_text(name + b"/" + each)
            for each in differ
            if not _is_same(top, each, kept, looks.get(each))
        )

    def _file(self, path: bytes, content: bytes) -> str:
        return os.path.join(self._folder, f"{_short(path)}-{content.hex()}")

    def _of(self, path: bytes) -> list[str]:
        """Return what is kept of a folder, the newest first."""
        start = f"{_short(path)}-"
        try:
            with os.scandir(self._folder) as entries:
                found = [(each.stat().st_mtime_ns, each.path) for each in entries]
        except OSError:
            return []
        ours = (pair for pair in found if os.path.basename(pair[1]).startswith(start))
        return [file for _, file in sorted(ours, reverse=True)]

    def _last(self, path: bytes) -> _KeptLooks | None:
        return next(filter(None, map(_load, self._of(path)[:1])), None)

    def _write(self, path: bytes, file: str, kept: _KeptLooks) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        fresh = f"{file}.{os.getpid()}"
        with open(fresh, "wb") as new:
            new.write(_MAGIC + zlib.compress(msgspec.msgpack.encode(kept), 1))
        os.replace(fresh, file)
        for old in self._of(path)[_MOST:]:
            with contextlib.suppress(OSError):
                os.unlink(old)


def _short(path: bytes) -> str:
    return hashlib.sha256(path).hexdigest()[:16]


def _load(file: str) -> _KeptLooks | None:
    try:
        with open(file, "rb") as kept:
            data = kept.read()
        if not data.startswith(_MAGIC):
            return None
        return msgpack_decoder(_KeptLooks).decode(zlib.decompress(data[len(_MAGIC) :]))
    except (OSError, msgspec.MsgspecError, zlib.error):
        return None


def _still_true(kept: _KeptLooks, looks: Looks) -> dict[bytes, bytes]:
    """Return the digests of files that look as they did when they were read."""
    return {
        path: digest
        for path, digest in kept.digests.items()
        if looks.get(path) == kept.looks.get(path)
    }


def _read_on(top: bytes, looks: Looks, digests: dict[bytes, bytes]) -> None:
    end = time.monotonic() + _SECONDS
    for path in sorted(looks.keys() - digests.keys(), key=_later):
        if time.monotonic() > end:
            return
        place = os.path.join(top, path)
        digest = _digest(place)
        with contextlib.suppress(OSError):
            # One that was written meanwhile is not the one that was summarised.
            if look_of(path, os.lstat(place)) == looks[path]:
                digests[path] = digest or b""


def _later(path: bytes) -> tuple[bool, bytes]:
    return not path.endswith(_LOADED), path


def _is_same(top: bytes, path: bytes, kept: _KeptLooks, now: bytes | None) -> bool:
    """Say whether a file that looks different has the type, the mode and the content it had."""
    was, digest = kept.looks.get(path), kept.digests.get(path)
    if was is None or now is None or not digest or was[:_TYPE_AND_MODE] != now[:_TYPE_AND_MODE]:
        return False
    return _digest(os.path.join(top, path)) == digest


_TYPE_AND_MODE = 8
"""Of what a file looks like: the length of its path, its type and its mode."""


def _digest(path: bytes) -> bytes | None:
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return hashlib.sha256(b"link " + os.readlink(path)).digest()
        if not stat.S_ISREG(found.st_mode):
            return None
        opened = os.open(path, FILE)
    except OSError:
        return None
    try:
        return file_digest(opened, os.fstat(opened), lambda _: None)[1]
    except OSError:
        return None
    finally:
        os.close(opened)
