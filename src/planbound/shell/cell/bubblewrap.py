"""I2 by bubblewrap: where only that program may make namespaces.

Without an overlay (bubblewrap has one from 0.11 on, and then no way to say how large it may grow
or to look at it afterwards) the command sees a copy of the tree at the workspace's own path.
"""

from __future__ import annotations

import os
import sys

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Outcome
from planbound.ports.cell import Request
from planbound.shell.cell.copied import copy_workspace
from planbound.shell.cell.host import order_for, refused, run_order
from planbound.shell.cell.namespaces import HOME
from planbound.shell.cell.scratch import Scratch

# By absolute path: Ubuntu's AppArmor profile knows only this one, and PATH is anybody's.
PROGRAM = "/usr/bin/bwrap"
_ROOMS = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108 - the cell's own


class BubblewrapCell:
    """Namespaces made by `/usr/bin/bwrap`; our own process in them keeps the command."""

    name = "bubblewrap"
    isolation = Isolation.I2

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch

    def run(self, request: Request) -> Outcome:
        """Run a command; see `ports.cell.Cell`."""
        workspace = os.path.realpath(request.workspace)
        with self.scratch.room() as room, self.scratch.large_room() as large:
            tree = workspace
            if not request.writable:
                tree = os.path.join(large, "tree")
                copy_workspace(workspace, tree, whole=True)
            exposed = (*request.exposed, sys.prefix, sys.base_prefix, _PACKAGES)
            order = order_for(
                request._replace(masked=(*request.masked, self.scratch.folder), exposed=exposed),
                level="inner",
                workspace=workspace,
                scratch=large,
                home=request.home or HOME,
            )
            before = _arguments(request, order.masked, order.exposed, tree)
            with self.scratch.placeholders(room, workspace, request.absent):
                outcome = run_order(order, needles=request.needles, before=before)
        return refused(outcome, order.command[0])


_PACKAGES = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
)


def _arguments(
    request: Request, masked: tuple[str, ...], exposed: tuple[str, ...], tree: str
) -> tuple[str, ...]:
    workspace = os.path.realpath(request.workspace)
    words = [
        *(PROGRAM, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--as-pid-1"),
        *(() if request.network else ("--unshare-net",)),
        # As root all capabilities would be kept, and a remount would open everything.
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    ]
    for room in _ROOMS:
        if os.path.isdir(room):
            words += ["--size", str(request.limits.temporary), "--tmpfs", room]
    words += ["--dir", HOME, "--file", "0", "/run/planbound-cell"]
    for path in exposed:
        if os.path.exists(path):
            words += ["--ro-bind", path, path]
    if request.home is not None:
        words += ["--bind", request.home, request.home]
    for path in masked:
        if os.path.isdir(path):
            words += ["--tmpfs", path, "--remount-ro", path]
        elif os.path.exists(path):
            words += ["--ro-bind", "/dev/null", path]
    words += ["--bind", tree, workspace]
    for name in request.read_only if request.writable else ():
        path = os.path.join(workspace, name)
        if os.path.exists(path) and os.path.realpath(path) == path:
            words += ["--ro-bind", path, path]
    for name in request.absent if request.writable else ():
        words += ["--ro-bind", "/dev/null", os.path.join(workspace, name)]
    words += ["--ro-bind", "/proc/sys", "/proc/sys"]
    return (*words, "--")
