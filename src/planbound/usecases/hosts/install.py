"""Install: puts our entries into a host's settings, and takes them out again.

What a file held before is kept, so that it is put back byte for byte. Where somebody edited it
since, only our entries are taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from planbound.engine.hosts.fragment import Part, Unmergeable
from planbound.errors import FileProblem, NothingToDo


class Kept(NamedTuple):
    """What is known of a file that was changed."""

    before: bytes | None
    """What it held; None: it was not there."""
    after: str
    """The hash of what was written."""
    hosts: tuple[str, ...]
    """Whose setting up it belongs to."""


class Originals(Protocol):
    """What files held before we changed them."""

    def get(self, path: str) -> Kept | None:
        """Return what is known of a file."""

    def put(self, path: str, kept: Kept | None) -> None:
        """Remember it, or forget it."""

    def folders(self) -> tuple[str, ...]:
        """Return the folders that were made for files of ours."""

    def keep_folders(self, folders: Iterable[str]) -> None:
        """Remember just these."""


class HostFiles(Protocol):
    """Settings files of hosts."""

    def read(self, path: str) -> bytes | None:
        """Return the content; None where there is no file."""

    def write(self, path: str, data: bytes, *, expected: bytes | None) -> tuple[str, ...]:
        """Write a file that still holds `expected`; return the folders that were made."""

    def remove(self, path: str, *, expected: bytes) -> None:
        """Remove a file that still holds `expected`."""

    def remove_folder(self, path: str) -> bool:
        """Remove an empty folder; return whether it is gone."""

    def hash(self, data: bytes) -> str:
        """Return what a content is known by."""


class Change(NamedTuple):
    """What becomes of a file."""

    path: str
    before: bytes | None
    after: bytes | None
    note: str = ""


def install(
    host: str, parts: Sequence[Part], files: HostFiles, originals: Originals
) -> list[Change]:
    """Set a host up; return what was changed. Nothing is written where one file cannot be."""
    planned = []
    for part in parts:
        before = files.read(part.path)
        after = _added(part, before)
        planned.append((Change(part.path, before, after), part))
    done = []
    for change, part in planned:
        known = originals.get(change.path)
        hosts = tuple(sorted({*(known.hosts if known else ()), host}))
        if change.before == change.after:
            if known is not None and known.hosts != hosts:
                originals.put(change.path, known._replace(hosts=hosts))
            continue
        assert change.after is not None
        kept = _kept(change, part, known, files)._replace(hosts=hosts)
        originals.put(change.path, kept)  # first: a crash in between must not lose what was there
        made = files.write(change.path, change.after, expected=change.before)
        if made:
            originals.keep_folders({*originals.folders(), *made})
        done.append(change)
    if not done:
        raise NothingToDo(f"`{host}` is set up already")
    return done


def _kept(change: Change, part: Part, known: Kept | None, files: HostFiles) -> Kept:
    assert change.after is not None
    after = files.hash(change.after)
    before = change.before
    if known is not None:
        same = change.before is not None and files.hash(change.before) == known.after
        before = known.before if same else _stripped(part, change.before)
    elif change.before is not None:
        before = _stripped(part, change.before)
    return Kept(before, after, ())


def _stripped(part: Part, data: bytes | None) -> bytes | None:
    """Return a file as it was without us: its bytes where there is nothing of ours in it."""
    return None if data is None else _removed(part, data)


def uninstall(
    host: str, parts: Sequence[Part], files: HostFiles, originals: Originals
) -> list[Change]:
    """Take everything of ours out of a host's settings; return what was changed."""
    done = []
    for part in parts:
        now, known = files.read(part.path), originals.get(part.path)
        others = tuple(each for each in known.hosts if each != host) if known else ()
        if known is not None and others:
            originals.put(part.path, known._replace(hosts=others))
            continue
        if now is None:
            originals.put(part.path, None)
            continue
        untouched = known is not None and files.hash(now) == known.after
        after = known.before if known is not None and untouched else _removed(part, now)
        edited = "edited since: only our entries were taken out" if not untouched else ""
        if after == now:
            continue
        if after is None:
            files.remove(part.path, expected=now)
        else:
            files.write(part.path, after, expected=now)
        originals.put(part.path, None)
        done.append(Change(part.path, now, after, edited if after is not None else ""))
    ours = sorted(originals.folders(), key=len, reverse=True)
    originals.keep_folders([folder for folder in ours if not files.remove_folder(folder)])
    if not done:
        raise NothingToDo(f"nothing of ours is in the settings of `{host}`")
    return done


def _added(part: Part, before: bytes | None) -> bytes:
    try:
        text = None if before is None else before.decode("utf-8")
        return part.fragment.added(text).encode("utf-8")
    except UnicodeDecodeError as error:
        raise FileProblem(f"`{part.path}` is not text in UTF-8; nothing was changed") from error
    except Unmergeable as error:
        raise _told(part, error) from error


def _removed(part: Part, data: bytes) -> bytes | None:
    try:
        text = part.fragment.removed(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FileProblem(f"`{part.path}` is not text in UTF-8; nothing was changed") from error
    except Unmergeable as error:
        raise _told(part, error) from error
    return None if text is None else text.encode("utf-8")


def _told(part: Part, error: Unmergeable) -> Unmergeable:
    told = Unmergeable(f"`{part.path}` cannot be changed: {error.message}")
    told.hint = error.hint
    return told
