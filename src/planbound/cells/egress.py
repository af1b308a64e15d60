"""Where a command may connect to, if it may not connect anywhere: names and ports, checked."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_FORM = re.compile(r"(\[[0-9A-Fa-f:.]+\](?:/\d{1,3})?|[^\[\]:\s]+)(?::(\d{1,5}))?")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_LONGEST = 253
_USUAL_PORT = 443
_LOCAL = "localhost"
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Destination(NamedTuple):
    """One line of a list: a name, all names below one, or addresses; with one port."""

    name: str
    """In small letters; `*.` before it: what is below it, and not itself. Empty: see `network`."""
    port: int
    network: Network | None = None

    def __str__(self) -> str:
        """Return it as it is written."""
        if self.network is None:
            return f"{self.name}:{self.port}"
        single = self.network.num_addresses == 1
        text = str(self.network.network_address if single else self.network)
        return f"[{text}]:{self.port}" if ":" in text else f"{text}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether it is this very machine, by the address that everybody knows it by."""
        return self.name == _LOCAL or (self.network is not None and self.network.is_loopback)


class Traffic(NamedTuple):
    """What was sent to one destination, or was to be."""

    name: str
    """The host and its port."""
    connections: int = 0
    sent: int = 0
    """Bytes that the command sent."""
    received: int = 0
    refused: int = 0
    """How often it was not allowed."""

    def __str__(self) -> str:
        """Return it in words."""
        parts = []
        if self.connections:
            times = f"{self.connections} connection{'' if self.connections == 1 else 's'}"
            parts.append(f"{times}, {self.sent} bytes out, {self.received} in")
        if self.refused:
            parts.append(f"refused {self.refused} time{'' if self.refused == 1 else 's'}")
        return f"{self.name}: {'; '.join(parts) or 'nothing'}"


def together(found: Iterable[Traffic]) -> tuple[Traffic, ...]:
    """Return what several commands sent, each destination once."""
    whole: dict[str, Traffic] = {}
    for each in found:
        before = whole.get(each.name, Traffic(each.name))
        numbers = (one + other for one, other in zip(before[1:], each[1:], strict=True))
        whole[each.name] = Traffic(each.name, *numbers)
    return tuple(whole[name] for name in sorted(whole))


def parse_destination(text: str) -> Destination:
    """Return what a line of a list means; raise ValueError with what is wrong with it."""
    if "://" in text:
        raise ValueError("is the address of a page: write its host and port")
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError("is no host with a port")
    port = int(match[2] or _USUAL_PORT)
    if not 0 < port < 65536:
        raise ValueError(f"has no port: {port}")
    host = match[1].replace("[", "").replace("]", "")
    try:
        return Destination("", port, ipaddress.ip_network(host))
    except ValueError as error:
        if "/" in host:
            raise ValueError(f"is no network: {error}") from None
    wildcard = host.startswith("*.")
    name = canonical(host.removeprefix("*."))
    if name is None:
        raise ValueError("is no name of a host")
    if wildcard and "." not in name:
        raise ValueError("is too wide: name what comes before the last part, too")
    return Destination(f"*.{name}" if wildcard else name, port)


def local_ports(allowed: tuple[Destination, ...]) -> tuple[int, ...]:
    """Return the ports of this machine that a cell finds at its own loopback address."""
    return tuple(dict.fromkeys(each.port for each in allowed if each.is_local))


def canonical(host: str) -> str | None:
    """Return a name as it is compared; None where it is none, such as an address in disguise."""
    name = host.lower().removesuffix(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii").lower()
        except UnicodeError:
            return None
    last = name.rpartition(".")[2]
    # `0x7f.1`, `2130706433` and `127.1` are addresses to some programs and names to others.
    if last.isdecimal() or last.startswith("0x"):
        return None
    return name if len(name) <= _LONGEST and _NAME.fullmatch(name) else None


def address_of(host: str) -> Address | None:
    """Return the address that a host is written as; None where it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_listed(host: str, port: int, allowed: Iterable[Destination]) -> bool:
    """Say whether somebody may ask for a host and a port, whatever is found there."""
    address = address_of(host)
    if address is not None:
        return _holds(address, port, allowed)
    name = canonical(host)
    return name is not None and any(
        each.port == port
        and (each.name == name or (each.name.startswith("*.") and name.endswith(each.name[1:])))
        for each in allowed
    )


def may_connect(address: Address, port: int, allowed: Iterable[Destination]) -> bool:
    """Say whether an address that a listed name leads to is public, or listed itself.

    A name can lead anywhere, also into the network of whoever asks.
    """
    inner = _inner(address)
    if inner.is_global and not inner.is_multicast:
        return True
    allowed = tuple(allowed)
    if inner.is_loopback and any(each.name == _LOCAL and each.port == port for each in allowed):
        return True
    return _holds(inner, port, allowed)


def _holds(address: Address, port: int, allowed: Iterable[Destination]) -> bool:
    return any(
        each.port == port and each.network is not None and address in each.network
        for each in allowed
    )


def _inner(address: Address) -> Address:
    """Return the address that is written within another one."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
