"""The programs and packages of the machine that every contract finds there, looked at quickly.

Which places those are is read from folders: of programs, of packages, of toolchains. They are read
again only where one of all these places looks otherwise than before, or where one had changed so
shortly before it was read that it may have changed once more within the same tick of the clock.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from planbound.cells.orders import is_below
from planbound.workspace.environment import is_link_of_packages, linked_places
from planbound.workspace.stamps import WINDOW

_MOST_PROGRAMS = 2_000
_SYSTEM = (
    "/bin",
    "/etc",
    "/opt",
    "/sbin",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/sbin",
    "/usr/share",
    "/var/lib/dpkg/status",
    "/var/lib/rpm",
    "/lib/apk/db/installed",
    "/var/lib/pacman/local",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/hosts",
    "/etc/passwd",
    "/etc/group",
)
"""What changes where programs, packages or settings of the machine come, go or are replaced."""
OF_PACKAGES = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")
"""Programs that come with packages: those that a contract calls are looked at singly."""
_BINS = frozenset({"bin", "shims"})
_facts = attrgetter("st_dev", "st_ino", "st_mode", "st_size", "st_mtime_ns", "st_ctime_ns")
_Look = tuple[int, int, int, int, int, int] | None


class UnsureError(Exception):
    """There is more in sight than can be looked at."""


class MachineLook(NamedTuple):
    """What a machine looks like."""

    digest: bytes
    linked: tuple[str, ...]
    """Where packages lie that are only linked in an environment."""


class _KnownLook(NamedTuple):
    """A look, and by what it is known that another one would be the same."""

    places: tuple[str, ...]
    looks: list[_Look]
    look: MachineLook


class Machine:
    """What contracts find on this machine by the folders of programs on their path."""

    def __init__(
        self,
        folders: Sequence[str],
        root: str,
        tools: Sequence[str] = (),
        home: str | None = None,
        *,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self._outside = [path for path in folders if not is_below(path, root)]
        self._inside = [path for path in folders if is_below(path, root)]
        self._tools = tools
        self._home = home
        self._now = now
        self._known: _KnownLook | None = None

    def look(self) -> MachineLook:
        """Look at all of it; raise UnsureError where there is too much."""
        known = self._known
        if known is not None and _looks(known.places) == known.looks:
            return known.look
        now = self._now()
        places = tuple(dict.fromkeys(self._places()))
        beside = tuple(dict.fromkeys(self._links()))
        prefixes = _prefixes([*self._outside, *self._inside])
        linked = tuple(dict.fromkeys(path for each in prefixes for path in linked_places(each)))
        looks = _looks((*places, *beside))
        if any(each is not None and is_answering(each[2]) for each in looks):
            raise UnsureError
        told = repr(list(zip(places, looks, strict=False)))
        digest = hashlib.sha256(told.encode("utf-8", "surrogateescape")).digest()
        look = MachineLook(digest, linked)
        is_settled = all(each is None or max(each[4:]) < now - WINDOW for each in looks)
        self._known = _KnownLook((*places, *beside), looks, look) if is_settled else None
        return look

    def _places(self) -> Iterator[str]:
        yield from _SYSTEM
        yield from self._outside
        for folder in self._outside:
            if folder not in OF_PACKAGES:
                names = _names(folder)
                if len(names) > _MOST_PROGRAMS:
                    raise UnsureError
                yield from (os.path.join(folder, name) for name in names)
        met: set[str] = set()
        for prefix in _prefixes(self._outside):
            library = os.path.join(prefix, "lib")
            yield library  # if it leads elsewhere from now on, it looks otherwise
            place = os.path.realpath(library)
            if place not in met:  # `/lib` is `/usr/lib` on many machines
                met.add(place)
                yield from _packages(prefix)
        yield from self._tops()

    def _links(self) -> Iterator[str]:
        """Yield what says, in environments of the tree, which packages are only linked there.

        The tree is looked at by itself: this is only for what it leads to.
        """
        for prefix in _prefixes(self._inside):
            yield os.path.join(prefix, "lib")
            for folder in _sites(prefix):
                yield folder
                found = filter(is_link_of_packages, _names(folder))
                yield from (os.path.join(folder, name) for name in found)

    def _tops(self) -> Iterator[str]:
        """Yield what lies at the top of a home's toolchains: settings, and the chosen version."""
        for tool in self._tools:
            # A folder of programs is looked at where it is on the path of a contract.
            below = self._home is not None and is_below(tool, self._home)
            if not below or os.path.basename(tool) in _BINS:
                continue
            yield tool
            yield from (os.path.join(tool, name) for name in _names(tool))


def is_answering(mode: int) -> bool:
    """Say whether it is a socket or a pipe: nobody knows what the one at its other end says."""
    return stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)


@lru_cache(maxsize=8)
def machine_of(
    folders: tuple[str, ...], root: str, tools: tuple[str, ...], home: str | None
) -> Machine:
    """Return the machine as contracts find it that have the same path."""
    return Machine(folders, root, tools, home)


def _packages(prefix: str) -> Iterator[str]:
    """Yield what stands in the folders of packages: what comes, goes or is replaced shows.

    What is in a package is not looked at: who edits what is installed knows it.
    """
    for folder in (*_sites(prefix), os.path.join(prefix, "lib", "node_modules")):
        yield folder
        yield from (os.path.join(folder, name) for name in _names(folder))


def _sites(prefix: str) -> Iterator[str]:
    """Yield where an environment may have packages of Python, whether or not it has."""
    library = os.path.join(prefix, "lib")
    for name in _names(library):
        if name.startswith("python"):
            for kind in ("site-packages", "dist-packages"):
                yield os.path.join(library, name, kind)


def _names(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return sorted(os.listdir(folder))
    return []


def _prefixes(folders: Iterable[str]) -> Iterator[str]:
    """Yield what folders of programs belong to."""
    yield from dict.fromkeys(os.path.dirname(path.rstrip("/")) for path in folders)


def _looks(places: Iterable[str]) -> list[_Look]:
    """Return what files and folders look like, links followed; None for what is not there."""
    found: list[_Look] = []
    for path in places:
        try:
            found.append(_facts(os.stat(path)))
        except OSError:
            found.append(None)
    return found
