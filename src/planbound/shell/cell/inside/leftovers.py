"""What a command without a cell left behind: found by its session, or by what it still holds."""

from __future__ import annotations

import os

_NEAR = 200
"""How many numbers are tried one by one before the list of all processes is read."""


def since(session: int) -> list[int]:
    """Return the living processes of a session, its first one left out.

    Whoever is in it was started after the first one: where nothing was started on this machine
    since then there is nobody, and mostly it is only a few.
    """
    last = _last_number()
    if last == session:
        return []
    near = range(session + 1, last + 1)
    candidates = near if session < last <= session + _NEAR else _numbers()
    return [number for number in candidates if number != session and _is_of(number, {session})]


def of(sessions: set[int], pipes: set[int]) -> list[int]:
    """Return the living processes that are of a session, or hold one of the pipes."""
    own = os.getpid()
    return [
        number
        for number in _numbers()
        if number != own and (_is_of(number, sessions) or _holds(number, pipes))
    ]


def holding(pipes: set[int]) -> list[int]:
    """Return the processes that hold one of the pipes: neither this one, nor what it starts.

    What is just being started holds everything that this process does, for a moment; it is known
    by its arguments, which still are the same.
    """
    own = _arguments(os.getpid())
    return [number for number in _numbers() if _holds(number, pipes) and _arguments(number) != own]


def kill(numbers: list[int]) -> None:
    """End processes."""
    for number in numbers:
        try:
            os.kill(number, 9)
        except OSError:
            pass  # it has ended by itself


def _numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _last_number() -> int:
    """Return the number that the last process or thread of this machine got; 0: nobody knows."""
    try:
        with open("/proc/loadavg", "rb", buffering=0) as file:
            return int(file.read(200).split()[4])
    except (OSError, IndexError, ValueError):
        return 0


def _fields(number: int) -> list[bytes]:
    """Return state, parent, group, session."""
    try:
        with open(f"/proc/{number}/stat", "rb", buffering=0) as file:
            return file.read(4096).rpartition(b")")[2].split(None, 4)[:4]
    except OSError:
        return []


def _is_of(number: int, sessions: set[int]) -> bool:
    fields = _fields(number)
    return len(fields) == 4 and fields[0] not in {b"Z", b"X"} and int(fields[3]) in sessions


def _arguments(number: int) -> bytes:
    try:
        with open(f"/proc/{number}/cmdline", "rb", buffering=0) as file:
            return file.read(1 << 17)
    except OSError:
        return b""


def _holds(number: int, pipes: set[int]) -> bool:
    folder = f"/proc/{number}/fd"
    try:
        held = [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]
    except OSError:
        return False  # it has ended, or is somebody else's
    return any(f"pipe:[{pipe}]" in held for pipe in pipes)
