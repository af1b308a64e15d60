"""I2 by bubblewrap: where only that program may make namespaces.

Without an overlay (bubblewrap has one from 0.11 on, and then no way to say how large it may grow
or to look at it afterwards) the command sees a copy of the tree at the workspace's own path.
"""

from __future__ import annotations

import os
import sys

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Outcome
from planbound.ports.cell import Overseer, Request
from planbound.shell.cell.copied import copy_workspace, left_out
from planbound.shell.cell.host import run_order
from planbound.shell.cell.inside.order import ROOMS, Order
from planbound.shell.cell.namespaces import HOME
from planbound.shell.cell.orders import hideable, order_for
from planbound.shell.cell.scratch import Scratch

# By absolute path: Ubuntu's AppArmor profile knows only this one, and PATH is anybody's.
PROGRAM = "/usr/bin/bwrap"


class BubblewrapCell:
    """Namespaces made by `/usr/bin/bwrap`; our own process in them keeps the command."""

    name = "bubblewrap"
    isolation = Isolation.I2

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Run a command; see `ports.cell.Cell`."""
        workspace = os.path.realpath(request.workspace)
        request = hideable(request, workspace)
        with (
            self.scratch.room() as room,
            self.scratch.large_room() as large,
            self.scratch.placeholders(room, workspace, request.absent),
        ):
            masked = (*request.masked, self.scratch.folder)
            tree = workspace
            if not request.writable:
                tree = os.path.join(large, "tree")
                copy_workspace(
                    workspace,
                    tree,
                    whole=True,
                    hidden=(*left_out(request), os.path.realpath(self.scratch.folder)),
                )
            exposed = (*request.exposed, sys.prefix, sys.base_prefix, _PACKAGES)
            order = order_for(
                request._replace(masked=masked, exposed=exposed),
                level="inner",
                workspace=workspace,
                scratch=large,
                home=request.home or HOME,
                shown_at=request.shown_at,
            )
            return run_order(order, request, overseer, _arguments(order, tree))


_PACKAGES = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
)


def _arguments(order: Order, tree: str) -> tuple[str, ...]:
    workspace = order.workspace
    words = [
        *(PROGRAM, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--as-pid-1"),
        *(() if order.network else ("--unshare-net",)),
        # As root all capabilities would be kept, and a remount would open everything.
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    ]
    for room in ROOMS:
        if os.path.isdir(room):
            words += ["--size", str(order.temporary), "--tmpfs", room]
    words += ["--dir", HOME, "--file", "0", "/run/planbound-cell"]
    for path in order.exposed:
        if os.path.exists(path):
            words += ["--ro-bind", path, path]
    if order.home is not None:
        words += ["--bind", order.home, order.home]
    elif order.kept_home is not None:
        words += ["--bind", order.kept_home, HOME]
    masked = [_on_host(order, path) for path in order.masked]
    inside = [path for path in masked if path.startswith(order.source + os.sep)]
    outside = [path for path in masked if path not in inside]
    words += [*_masks(order, outside), "--bind", tree, workspace, *_masks(order, inside)]
    for path in order.pinned:
        words += ["--bind", path, order.shown(path)]
    for path in order.read_only:
        words += ["--ro-bind", path, order.shown(path)]
    for path in order.absent:
        words += ["--ro-bind", "/dev/null", order.shown(path)]
    words += _untracked(order)
    words += ["--ro-bind", "/proc/sys", "/proc/sys"]
    for path in masked:
        # At the end: the workspace may lie in a folder that is masked.
        if os.path.isdir(path):
            words += ["--remount-ro", order.shown(path)]
    return (*words, "--")


def _untracked(order: Order) -> list[str]:
    """Let git's file of what it does not look at say something else."""
    if order.untracked is None:
        return []
    path, content = order.untracked
    other = os.path.join(order.scratch, "untracked")
    with open(other, "wb") as file:
        file.write(content)
    return ["--ro-bind", other, order.shown(path)]


def _on_host(order: Order, path: str) -> str:
    """Return where the host has what the command would see at a path."""
    inside = path.startswith(order.workspace + os.sep)
    return order.source + path[len(order.workspace) :] if inside else path


def _masks(order: Order, paths: list[str]) -> list[str]:
    words: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            words += ["--tmpfs", order.shown(path)]
        elif os.path.exists(path):
            words += ["--ro-bind", "/dev/null", order.shown(path)]
    return words
