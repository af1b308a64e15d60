"""I1 and I0: a copy of the tree, where there are no namespaces."""

from __future__ import annotations

import os

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Outcome
from planbound.errors import CellProblem
from planbound.ports.cell import Overseer, Request
from planbound.shell.cell.copy import copy_tree
from planbound.shell.cell.host import run_order
from planbound.shell.cell.orders import order_for
from planbound.shell.cell.scratch import Scratch

_OWN = ("tmp", "home")


class CopyCell:
    """A process in a copy of the tree; what is walled off depends on the level."""

    name = "process group"
    isolation = Isolation.I0

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Run a command; see `ports.cell.Cell`."""
        with self.scratch.large_room() as room:
            workspace = os.path.realpath(request.workspace)
            if not request.writable:
                workspace = os.path.join(room, "tree")
                whole = self.isolation is Isolation.I0
                copy_workspace(request.workspace, workspace, whole=whole, hidden=left_out(request))
            for name in _OWN:
                os.mkdir(os.path.join(room, name), 0o700)
            environment = dict(request.environment)
            environment["TMPDIR"] = os.path.join(room, "tmp")
            order = order_for(
                request._replace(
                    environment=environment, masked=(*request.masked, self.scratch.folder)
                ),
                level=self.isolation.value,
                workspace=workspace,
                scratch=room,
                home=request.home or request.kept_home or os.path.join(room, "home"),
            )
            return run_order(order, request, overseer)


class LandlockCell(CopyCell):
    """The same behind Landlock and a seccomp filter."""

    name = "Landlock"
    isolation = Isolation.I1


def left_out(request: Request) -> tuple[str, ...]:
    """Return what is not copied: what is masked, and what would be taken out again."""
    masked = (os.path.realpath(path) for path in request.masked)
    top = os.path.realpath(request.workspace)
    # A link that is removed is not copied itself; what it leads to is.
    removed = (os.path.join(top, name) for name in request.remove)
    return (*masked, *removed)


def copy_workspace(source: str, target: str, *, whole: bool, hidden: tuple[str, ...] = ()) -> None:
    """Copy the workspace for a cell; raise CellProblem where that cannot be."""
    try:
        copy_tree(os.path.realpath(source), target, whole=whole, hidden=frozenset(hidden))
    except OSError as error:
        raise CellProblem(
            f"the workspace cannot be copied: {str(error.filename)[-200:]}: {error.strerror}",
            hint="a cell of namespaces needs no copy; `planbound selftest` says why there is none",
        ) from error
