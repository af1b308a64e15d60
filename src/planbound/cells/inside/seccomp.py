"""A filter for system calls that no test and no build needs, and that walls have fallen to.

It can also tell a listener of the calls by which commands of different cells can meet.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from planbound.cells.inside.kernel import MACHINE, prctl, syscall

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER = 1
_NEW_LISTENER = 0x8
_WAIT_KILLABLE = 0x20
"""From Linux 5.19 on: no signal but a deadly one disturbs a call that was told of."""
_ALLOW = 0x7FFF0000
_TELL = 0x7FC00000
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
# All cells show the host's inodes, and are one user: locks, watches and what a user may have of
# something are the same in all of them. See decision 075.
_TOLD: dict[str, tuple[int, int | None]] = {
    "flock": (73, 32),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "futex_waitv": (449, 449),
    "futex_wake": (454, 454),
    "futex_wait": (455, 455),
    "futex_requeue": (456, 456),
    "mq_open": (240, 180),
    "timer_create": (222, 107),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
}
_FCNTL = {"x86_64": 72, "aarch64": 25}
_OWN_TO_A_PROCESS = (0, 1, 2, 3, 4, 8, 9, 10, 11, 15, 16, 1030, 1033, 1034)
"""What `fcntl` does to descriptors, to who is sent signals for them, and the seals of memory. All
else is told of: locks, leases, notes, hints, the sizes of pipes, and what kernels will add."""
_SHMCTL = {"x86_64": 31, "aarch64": 195}
_SHM_LOCK = 11
_FUTEX = {"x86_64": 202, "aarch64": 98}
_FUTEX_PRIVATE = 0x80
_FUTEX_WAITS = (0, 9)
"""Every `pthread_join` waits so. Who waits hears nothing of others until one of them wakes it."""
_FIRST_QUEUED = 32
"""From this one on signals are queued, and a user may have only so many of them."""
_SIGNALS = {
    "kill": (62, 129, 1),
    "tkill": (200, 130, 1),
    "tgkill": (234, 131, 2),
    "pidfd_send_signal": (424, 424, 1),
}
"""Their numbers, and which argument is the signal."""
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


_programs: dict[tuple[bool, bool], bytes] = {}


def program(*, sockets: bool, tells: bool = False) -> bytes:
    """Return the filter; without `sockets` not even one of the Internet kind can be made.

    With `tells` calls by which cells can meet wait until a listener lets them go on.
    """
    # A launcher has made it once for all whom it forks.
    if (sockets, tells) not in _programs:
        _programs[sockets, tells] = _made(sockets=sockets, tells=tells)
    return _programs[sockets, tells]


def _made(*, sockets: bool, tells: bool) -> bytes:
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
    if tells:
        code += _telling(column)
    code.append(_one(_RETURN, _ALLOW))
    return b"".join(code)


def _telling(column: int) -> list[bytes]:
    code: list[bytes] = []
    for numbers in _TOLD.values():
        number = numbers[column]
        if number is not None:
            code += [_one(_JUMP_EQUAL, number, 0, 1), _one(_RETURN, _TELL)]
    code += _unless(_FCNTL[MACHINE], 1, _any_of(_OWN_TO_A_PROCESS))
    code += _unless(_SHMCTL[MACHINE], 1, [_one(_JUMP_EQUAL, _SHM_LOCK, 0, 1)])
    code += _unless(
        _FUTEX[MACHINE],
        1,
        [
            _one(_JUMP_SET, _FUTEX_PRIVATE, len(_FUTEX_WAITS) + 2, 0),
            _one(_AND, _FUTEX_PRIVATE - 1),
            *_any_of(_FUTEX_WAITS),
        ],
    )
    for on_x86_64, on_aarch64, argument in _SIGNALS.values():
        number = (on_x86_64, on_aarch64)[column]
        code += _unless(number, argument, [_one(_JUMP_OVER, _FIRST_QUEUED, 0, 1)])
    return code


def _unless(number: int, argument: int, jumps: list[bytes]) -> list[bytes]:
    """Tell of a call, unless one of the jumps leads over the next line after them."""
    body = [_one(_LOAD, _argument(argument)), *jumps, _one(_RETURN, _TELL), _one(_LOAD, _NUMBER)]
    return [_one(_JUMP_EQUAL, number, 0, len(body)), *body]


def _any_of(values: tuple[int, ...]) -> list[bytes]:
    return [_one(_JUMP_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]


def install(*, sockets: bool) -> None:
    """Put the filter over this process and all that it starts; for ever."""
    buffer, header = _laid(program(sockets=sockets))
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(header))
    del buffer


def install_telling() -> int:
    """Do the same with a listener, and return its descriptor; raise OSError: nothing was done."""
    buffer, header = _laid(program(sockets=True, tells=True))
    number, place = _SECCOMP[MACHINE], ctypes.addressof(header)
    try:
        return syscall(number, _SET_MODE_FILTER, _NEW_LISTENER | _WAIT_KILLABLE, place)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return syscall(number, _SET_MODE_FILTER, _NEW_LISTENER, place)
    finally:
        del buffer


def _laid(code: bytes) -> tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_char]]:
    """Return the filter and what says where it is: both have to be there while it is put on."""
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    return buffer, ctypes.create_string_buffer(header, len(header))
