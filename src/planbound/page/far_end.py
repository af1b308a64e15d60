"""Who holds the other end of a connection from this machine: another user, or a process in a cell.

Browsers send a cookie to every server on this machine that they ask by the same name, whatever its
port, and a command line is everybody's to read. So another user, or an agent whose cell shares the
network of the machine, may have come by what lets a browser in. Who holds a socket, the kernel
knows.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
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

    def is_other_user(self, client: Place, server: Place) -> bool:
        """Say whether another user of this machine began a connection; no more is looked up."""
        if not self._own_alone:
            return False
        row = find_rows(((client, server),))[0]
        return row is not None and row.inode != 0 and row.user not in {os.getuid(), _ROOT}

    def of(self, client: Place, server: Place) -> FarEnd:
        """Return who is at the other end of a connection to us."""
        far, near = find_rows(((client, server), (server, client)))
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


def find_rows(wanted: Sequence[tuple[Place, Place]]) -> list[SocketRow | None]:
    """Return for each pair of ends, the own one first, the socket of the first; None without."""
    with suppress(OSError, AttributeError, struct.error):
        found = _asked(wanted)
        if any(found):
            return found
    return _looked_up(wanted)


# By `sock_diag` of Linux: the tables of /proc take a hundred times as long.
_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1
_HEADER, _ENDS = "=IHHII", "!HH16s16s"
_REQUEST_OF = f"=BBBxI{struct.calcsize(_ENDS)}sIII"
_ROW = "=BBBB48sIIIII"
_LISTENS = 10


def _asked(wanted: Iterable[tuple[Place, Place]]) -> list[SocketRow | None]:
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
    with socket.socket(socket.AF_NETLINK, kind, _DIAG) as kernel:
        return [_ask(kernel, *pair) for pair in wanted]


def _ask(kernel: socket.socket, own: Place, other: Place) -> SocketRow | None:
    addresses = [_plain(host) for host, _ in (own, other)]
    family = socket.AF_INET if addresses[0].version == 4 else socket.AF_INET6
    packed = [each.packed.ljust(16, b"\0") for each in addresses]
    ends = struct.pack(_ENDS, own[1], other[1], *packed)
    anything = 0xFFFFFFFF
    asked = struct.pack(_REQUEST_OF, family, socket.IPPROTO_TCP, 0, anything, ends, 0,
                        anything, anything)  # fmt: skip
    size = struct.calcsize(_HEADER)
    kernel.send(struct.pack(_HEADER, size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
    said = kernel.recv(4096)
    if struct.unpack_from(_HEADER, said)[1] != _BY_FAMILY:
        return None
    _, state, _, _, _, _, _, _, user, inode = struct.unpack_from(_ROW, said, size)
    return None if state == _LISTENS else SocketRow(user, inode)


def _plain(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(host)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _looked_up(wanted: Iterable[tuple[Place, Place]]) -> list[SocketRow | None]:
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
    address = _plain(host)
    found = [address.packed]
    if address.version == 4:
        found.append(b"\0" * 10 + b"\xff\xff" + address.packed)
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
