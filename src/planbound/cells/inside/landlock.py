"""Landlock: what a process may open, where namespaces are forbidden; a second wall where not."""

from __future__ import annotations

import ctypes
import os
import stat
import struct

from planbound.cells.inside.kernel import syscall

TYPE_CHECKING = False  # importing `typing` would take longer than everything here
if TYPE_CHECKING:
    from collections.abc import Iterable

# The same numbers on every machine.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_TCP = 0b11
_SCOPE = 0b11
"""Abstract UNIX sockets, and signals to processes outside."""


def version() -> int:
    """Return how much the kernel's Landlock can do; 0 where there is none."""
    try:
        return syscall(_CREATE_RULESET, ctypes.c_void_p(None), 0, _VERSION_FLAG)
    except OSError:
        return 0


def _handled(abi: int) -> int:
    rights = (1 << 13) - 1
    for since, right in ((2, 1 << 13), (3, _TRUNCATE), (5, _IOCTL_DEVICE)):
        if abi >= since:
            rights |= right
    return rights


def confine(
    *, read: Iterable[str], write: Iterable[str], devices: Iterable[str], network: bool
) -> None:
    """Let this process open only what is named, and what is below it; for ever."""
    abi = version()
    handled = _handled(abi)
    ruleset = _ruleset(abi, files=handled, network=network)
    try:
        for path in read:
            _allow(ruleset, path, _READ & handled)
        for path in devices:
            _allow(ruleset, path, (_READ | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE) & handled)
        for path in write:
            _allow(ruleset, path, handled)
        syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def scope() -> None:
    """Keep abstract sockets and signals inside, where the kernel can; files are left alone."""
    abi = version()
    if abi < 6:
        return
    ruleset = _ruleset(abi, files=0, network=True)
    try:
        syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _ruleset(abi: int, *, files: int, network: bool) -> int:
    words = [files]
    if abi >= 4:
        words.append(0 if network else _TCP)
    if abi >= 6:
        words.append(_SCOPE)
    attributes = struct.pack(f"{len(words)}Q", *words)
    return syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), len(attributes), 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no permission
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
        rule = struct.pack("=Qi", rights, opened)
        syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0)
    finally:
        os.close(opened)


def around(top: str, hidden: Iterable[str]) -> list[str]:
    """Return paths below `top` that together hold everything but what is hidden.

    Landlock knows no exceptions: to hide a directory, everything beside it is named instead.
    """
    banned = [path for path in hidden if path == top or path.startswith(top.rstrip("/") + "/")]
    if not banned:
        return [top]
    if top in banned:
        return []
    try:
        names = sorted(os.listdir(top))
    except OSError:
        return []
    found: list[str] = []
    for name in names:
        path = os.path.join(top, name)
        if not os.path.islink(path):
            found += around(path, banned)
    return found
