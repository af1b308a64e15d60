"""How often a session was held up by a gate that did not work, where no journal can say it.

A file that grows by a byte each time: no parsing, no lock, and two hooks at once count both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Mapping

BOUND = 3
"""So often is an agent held up by a gate that cannot tell anything."""


def count(session: str, places: list[str]) -> int | None:
    """Add one; return how often it is now, None where nothing can be written anywhere."""
    for place in places:
        with contextlib.suppress(OSError):
            return _grow(_path(place, session))
    return None


def forget(session: str, places: list[str]) -> None:
    """Begin anew: the gate works again."""
    for place in places:
        with contextlib.suppress(OSError):
            os.unlink(_path(place, session))


def places(state: str | None, environment: Mapping[str, str]) -> list[str]:
    """Return the folders that may hold it, the best one first."""
    found = [os.path.join(state, "hooks")] if state else []
    home = environment.get("HOME") or os.path.expanduser("~")
    states = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    temporary = environment.get("TMPDIR") or "/tmp"  # noqa: S108 - looked at before it is used
    return [
        *found,
        os.path.join(states, "planbound", "hooks"),
        os.path.join(temporary, f"planbound-hooks-{os.geteuid()}"),
    ]


def _path(place: str, session: str) -> str:
    name = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return os.path.join(place, f"{name}.tally")


def _grow(path: str) -> int:
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    # Somebody else's folder in a place for all could hold a file that never grows.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, b".")
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
