"""The kernel's doors that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)
MACHINE = os.uname().machine

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 2

_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_ATTR_RDONLY = 0x1
_ATTR_NOSUID = 0x2
_ATTR_NODEV = 0x4
# The same number on every machine that is younger than these calls.
_SYS_MOUNT_SETATTR = 442
_SYS_PIDFD_GETFD = 438
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_M_MMAP_THRESHOLD = -3
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object) -> int:
    """Make a call by its number."""
    # Python's integers go as C ints, which is too short for pointers: they are passed as such.
    wide = [ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
    result: int = _libc.syscall(ctypes.c_long(number), *wide)
    return _checked(result, f"system call {number}")


def give_back_large_blocks() -> None:
    """Let memory of a megabyte or more go back when it is not used any more.

    What was once given back is otherwise kept for the next time, and what is small ends up behind.
    """
    mallopt = getattr(_libc, "mallopt", None)  # other libraries of C have none, and no need
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 1 << 20)


def prctl(option: int, *values: int) -> int:
    """Set something of this process."""
    given = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(option, *given), f"prctl {option}")


def unshare(flags: int) -> None:
    """Move this process into namespaces of its own."""
    _checked(_libc.unshare(flags), "unshare")


def mount(
    source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str = ""
) -> None:
    """Mount something."""
    _checked(
        _libc.mount(
            os.fsencode(source) if source is not None else None,
            os.fsencode(target),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            os.fsencode(data) if data else None,
        ),
        f"mount {kind or 'bind'} {target}",
    )


def unmount(target: str) -> None:
    """Take a mount away, as soon as nobody uses it."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def make_read_only(target: str, *, recursive: bool) -> None:
    """Make a mount, and with `recursive` all below it, read-only, without devices and setuid."""
    attributes = struct.pack("QQQQ", _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV, 0, 0, 0)
    syscall(
        _SYS_MOUNT_SETATTR,
        _AT_FDCWD,
        ctypes.c_char_p(os.fsencode(target)),
        _AT_RECURSIVE if recursive else 0,
        ctypes.c_char_p(attributes),
        len(attributes),
    )


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root, and put the old one at `old`."""
    syscall(
        _SYS_PIVOT_ROOT[MACHINE],
        ctypes.c_char_p(os.fsencode(new)),
        ctypes.c_char_p(os.fsencode(old)),
    )


def die_with_parent(signal_number: int = 9) -> None:
    """Be sent a signal when the parent ends, however it ends."""
    prctl(_PR_SET_PDEATHSIG, signal_number)


def hide_memory() -> None:
    """Let no process of the same user read this one's memory, environment and descriptors."""
    prctl(_PR_SET_DUMPABLE, 0)


def show_memory() -> None:
    """Undo `hide_memory`: files of a hidden process in /proc belong to root."""
    prctl(_PR_SET_DUMPABLE, 1)


def descriptor_of(process: int, number: int) -> int:
    """Return a copy of what a process has open, by a descriptor of that process."""
    return syscall(_SYS_PIDFD_GETFD, process, number, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def keep_no_privileges() -> None:
    """Drop every capability, for this process and whatever it starts."""
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            prctl(_PR_CAPBSET_DROP, capability)
        except OSError:
            break  # the kernel knows no more, or there was nothing to drop
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    _checked(_libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(bytes(24))), "capset")
    gain_no_privileges()


def gain_no_privileges() -> None:
    """Make setuid programs give nothing."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
