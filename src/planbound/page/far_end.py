"""Who holds the other end of a connection from this machine: another user, or a process in a cell.

Browsers send a cookie to every server on this machine that they ask by the same name, whatever its
port, and a command line is everybody's to read. So another user, or an agent whose cell shares the
network of the machine, may have come by what lets a browser in. Who holds a socket, the kernel
knows.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from planbound.cells.isolation import KEEPER_MARK

_PROC = "/proc"
_MOST_KNOWN = 2_000
_ROOT = 0


class FarEnd(Enum):
    """Who is at the other end."""

    OWN = "a program of the same user, or of another machine, or nobody can tell"
    OTHER_USER = "another user of this machine"
    IN_CELL = "a process in a cell"
    GONE = "nobody any more"


class SocketRow(NamedTuple):
    """What the kernel tells of a socket."""

    user: int
    inode: int
    """0: no process holds it any more."""


Place = tuple[str, int]
"""An address and a port."""


class FarEnds:
    """Says who is at the other end of connections, and remembers it as long as they are there."""

    def __init__(self, *, own_alone: bool) -> None:
        self._own_alone = own_alone
        """Whether other users of this machine are told apart."""
        self._known: dict[int, FarEnd] = {}

    def of(self, client: Place, server: Place) -> FarEnd:
        """Return who is at the other end of a connection to us."""
        rows = find_rows(((client, server), (server, client)))
        far, near = rows
        if near is None:  # nothing can be told here
            return FarEnd.OWN
        if far is None or not far.inode:
            return FarEnd.GONE if _is_near(client, server) else FarEnd.OWN
        if self._own_alone and far.user not in {os.getuid(), _ROOT}:
            return FarEnd.OTHER_USER
        found = self._known.get(far.inode)
        if found is None:
            found = FarEnd.IN_CELL if is_in_cell(far.inode) else FarEnd.OWN
            while len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[far.inode] = found
        return found


def _is_near(client: Place, server: Place) -> bool:
    """Say whether a connection can only have begun on this machine."""
    return client[0] == server[0] or ipaddress.ip_address(client[0]).is_loopback


# -- what the kernel knows -------------------------------------------------------------------------


def find_rows(wanted: Iterable[tuple[Place, Place]]) -> list[SocketRow | None]:
    """Return for each pair of ends, the own one first, the socket of the first; None without."""
    pairs = [(_spellings(*own), _spellings(*other)) for own, other in wanted]
    found: list[SocketRow | None] = [None] * len(pairs)
    for name in ("tcp", "tcp6"):
        try:
            with open(f"{_PROC}/net/{name}", encoding="ascii") as table:
                lines = table.read().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            for at, (own, other) in enumerate(pairs):
                # Each address of a line stands apart by blanks.
                if own[0][-5:] in line and other[0][-5:] in line:
                    words = line.split()
                    if words[1] in own and words[2] in other:
                        found[at] = SocketRow(int(words[7]), int(words[9]))
    return found


def _spellings(host: str, port: int) -> tuple[str, ...]:
    """Return how an address stands in the kernel's tables: as it is, and as one of version 6."""
    address = ipaddress.ip_address(host)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else address
    found = [] if mapped is None else [mapped.packed, b"\0" * 10 + b"\xff\xff" + mapped.packed]
    if isinstance(address, ipaddress.IPv6Address):
        found.append(address.packed)
    return tuple(f"{_words(each)}:{port:04X}" for each in found)


def _words(packed: bytes) -> str:
    """Return an address as whole words, each as this machine orders its bytes."""
    count = len(packed) // 4
    return "".join(f"{word:08X}" for word in struct.unpack(f"={count}I", packed))


# -- cells -----------------------------------------------------------------------------------------


def is_in_cell(inode: int) -> bool:
    """Say whether a process in a cell of ours holds a socket."""
    wanted = f"socket:[{inode}]"
    return any(wanted in _open_files(number) for number in _in_cells())


def _in_cells() -> Iterator[int]:
    """Yield every process that a keeper of a cell is above of: whoever is left comes to it."""
    numbers = [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    keepers = {number for number in numbers if KEEPER_MARK.encode() in _called(number)}
    if not keepers:
        return
    parents = {number: _parent(number) for number in numbers}
    for number in numbers:
        above: int | None = number
        for _ in range(len(parents)):
            if above is None or above in keepers:
                break
            above = parents.get(above)
        if above in keepers:
            yield number


def _called(number: int) -> bytes:
    with suppress(OSError), open(f"{_PROC}/{number}/cmdline", "rb") as file:
        return file.read(65_536)
    return b""


def _parent(number: int) -> int | None:
    with suppress(OSError, ValueError, IndexError), open(f"{_PROC}/{number}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])
    return None


def _open_files(number: int) -> set[str]:
    found = set()
    folder = f"{_PROC}/{number}/fd"
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError):
                found.add(os.readlink(f"{folder}/{name}"))
    return found
