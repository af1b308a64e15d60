"""What the state home holds, how large it is, and the disks that are written to."""

from __future__ import annotations

import contextlib
import os
import tempfile

from planbound.store.disk import Disk, disk_of, size_text
from planbound.usecases.team.health import Finding
from planbound.wiring.parts import Parts


def disk_findings(parts: Parts) -> list[Finding]:
    """Return every disk that a command writes to, with what is wrong with it."""
    used: dict[Disk, list[str]] = {}
    places = {
        "the state home": parts.state.folder,
        "the workspace": parts.root,
        "temporary files": tempfile.gettempdir(),
    }
    found: list[Finding] = []
    for name, path in places.items():
        try:
            used.setdefault(disk_of(path), []).append(name)
        except OSError as error:
            cure = f"look at what the system says of the disk below {path}"
            found.append(Finding(f"{name}: {error.strerror}", cure))
    return [*(_finding(disk, " and ".join(names)) for disk, names in used.items()), *found]


def _finding(disk: Disk, names: str) -> Finding:
    room = f"{size_text(disk.free)} of {size_text(disk.size)} are free"
    message = f"{names}: {disk.mount} ({disk.device}), {room}"
    if disk.trouble is None:
        return Finding(message, None)
    cure = f"make room on {disk.mount}; `planbound gc` removes what no run or approval needs"
    if disk.is_read_only:
        cure = f"mount {disk.mount} so that it can be written"
    return Finding(f"{message}: {disk.trouble}", cure)


def size_of(path: str) -> int:
    """Return how many bytes a file or folder takes on the disk, as far as that can be told."""
    try:
        total = os.lstat(path).st_blocks * 512
    except OSError:
        return 0
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


def left_findings(parts: Parts) -> list[Finding]:
    """Return what killed processes left in the state home."""
    from planbound.wiring.sweeping import leftovers  # noqa: PLC0415 - knows cells

    kinds: dict[str, int] = {}
    for each in leftovers(parts):
        kinds[each.kind] = kinds.get(each.kind, 0) + 1
    if not kinds:
        return [Finding("nothing that nobody needs")]
    listed = ", ".join(f"{count} × {kind}" for kind, count in kinds.items())
    cure = "the next command that opens the state home removes it, as `planbound gc` does"
    return [Finding(f"{listed}, of processes that are no more", cure)]
