"""A filter for system calls that no test and no build needs, and that walls have fallen to."""

from __future__ import annotations

import ctypes
import errno
import struct

from planbound.cells.inside.kernel import MACHINE, prctl

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_UNKNOWN = 0x00050000 | errno.ENOSYS
_KILL = 0x80000000

# x86_64, aarch64; None where the machine has no such call.
_REFUSED: dict[str, tuple[int, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "acct": (163, 89),
    "syslog": (103, 116),
    "quotactl": (179, 60),
    "iopl": (172, None),
    "ioperm": (173, None),
}
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_SOCKET = {"x86_64": 41, "aarch64": 198}
_IOCTL = {"x86_64": 16, "aarch64": 29}
_NAMESPACES = 0x7E020000
"""Every CLONE_NEW… flag."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: typing into somebody's terminal."""
_MOVED_BLOCKS = (0x660F, 0x586D)
"""EXT4_IOC_MOVE_EXT and XFS_IOC_SWAPEXT, without the size of what they take: they give the content
of one file to another, whose times stay as they were."""
# UNIX, INET, INET6, NETLINK. The others reach the host (VSOCK), the wire or the kernel's insides.
_FAMILIES = (1, 2, 10, 16)
_FAMILIES_OFFLINE = (1, 16)
_X32 = 0x40000000

_LOAD, _JUMP_EQUAL, _JUMP_SET, _JUMP_OVER, _RETURN, _AND = 0x20, 0x15, 0x45, 0x35, 0x06, 0x54
_NUMBER, _ARCH = 0, 4


def _argument(index: int) -> int:
    return 16 + 8 * index


def _one(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def is_supported() -> bool:
    """Say whether the numbers of this machine's calls are known."""
    return MACHINE in _ARCHITECTURE


_programs: dict[bool, bytes] = {}


def program(*, sockets: bool) -> bytes:
    """Return the filter; without `sockets` not even one of the Internet kind can be made."""
    # A launcher has made it once for all whom it forks.
    if sockets not in _programs:
        _programs[sockets] = _made(sockets=sockets)
    return _programs[sockets]


def _made(*, sockets: bool) -> bytes:
    column = _COLUMN[MACHINE]
    code = [
        _one(_LOAD, _ARCH),
        _one(_JUMP_EQUAL, _ARCHITECTURE[MACHINE], 1, 0),
        _one(_RETURN, _KILL),
        _one(_LOAD, _NUMBER),
    ]
    if MACHINE == "x86_64":
        code += [_one(_JUMP_OVER, _X32, 0, 1), _one(_RETURN, _KILL)]
    for numbers in _REFUSED.values():
        number = numbers[column]
        if number is not None:
            code += [_one(_JUMP_EQUAL, number, 0, 1), _one(_RETURN, _REFUSE)]
    # glibc asks for clone3 first, whose flags a filter cannot see, and then takes clone.
    code += [_one(_JUMP_EQUAL, _CLONE3, 0, 1), _one(_RETURN, _UNKNOWN)]
    code += [
        _one(_JUMP_EQUAL, _CLONE[MACHINE], 0, 4),
        _one(_LOAD, _argument(0)),
        _one(_JUMP_SET, _NAMESPACES, 0, 1),
        _one(_RETURN, _REFUSE),
        _one(_LOAD, _NUMBER),
    ]
    families = _FAMILIES if sockets else _FAMILIES_OFFLINE
    code += [_one(_JUMP_EQUAL, _SOCKET[MACHINE], 0, len(families) + 3), _one(_LOAD, _argument(0))]
    code += [
        _one(_JUMP_EQUAL, family, len(families) - place, 0) for place, family in enumerate(families)
    ]
    code += [_one(_RETURN, _REFUSE), _one(_LOAD, _NUMBER)]
    code += [_one(_JUMP_EQUAL, _IOCTL[MACHINE], 0, 8), _one(_LOAD, _argument(1))]
    code += [
        _one(_JUMP_EQUAL, _TERMINAL_INPUT[0], 4, 0),
        _one(_JUMP_EQUAL, _TERMINAL_INPUT[1], 3, 0),
        _one(_AND, 0xFFFF),
        _one(_JUMP_EQUAL, _MOVED_BLOCKS[0], 1, 0),
        _one(_JUMP_EQUAL, _MOVED_BLOCKS[1], 0, 1),
        _one(_RETURN, _REFUSE),
        _one(_LOAD, _NUMBER),
    ]
    code.append(_one(_RETURN, _ALLOW))
    return b"".join(code)


def install(*, sockets: bool) -> None:
    """Put the filter over this process and all that it starts; for ever."""
    code = program(sockets=sockets)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(header, len(header))
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(holder))
